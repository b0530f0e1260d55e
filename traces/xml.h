/* A strict reader of small XML files: elements with attributes, and nothing that could be turned
 * against its reader.
 *
 * Comments and a leading <?xml ...?> are skipped. Document types, other processing instructions,
 * CDATA, entities other than the five that XML has itself, and text between elements are refused,
 * so that nothing grows beyond the file and nothing outside it is read. Open structs; owner: the
 * arena. */
#ifndef GS_TRACES_XML_H
#define GS_TRACES_XML_H

#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GS_XML_BYTES_MAX = 4 * 1024 * 1024,
    GS_XML_DEPTH_MAX = 32,
    GS_XML_ELEMENTS_MAX = 65536,
    GS_XML_ATTRIBUTES_MAX = 64 /* of an element */
};

typedef struct gs_xml_attribute {
    const char *name;
    const char *value;
} gs_xml_attribute;

typedef struct gs_xml_element {
    const char *name;
    uint32_t line; /* where it begins, from 1 */
    const gs_xml_attribute *attributes;
    uint32_t attribute_count;
    struct gs_xml_element *parent; /* NULL: the root */
    struct gs_xml_element *first;  /* child */
    struct gs_xml_element *next;   /* of the same parent */
} gs_xml_element;

/* Reads a file, which may be gzipped. Errors: GS_EPARSE with file, line and what is wrong;
 * GS_ELIMIT; GS_EIO, GS_ENOTFOUND, GS_ENOMEM. */
GS_MUST_USE gs_status gs_xml_read(const char *file, gs_arena *arena, gs_xml_element **out,
                                  gs_error *err);

/* The value; NULL: no such attribute. */
const char *gs_xml_get(const gs_xml_element *element, const char *name);

/* The element after this one, parents before children; NULL: it was the last below `root`. */
const gs_xml_element *gs_xml_next(const gs_xml_element *root, const gs_xml_element *element);

#endif
