/* gradsync's own form of what an importer read ("gradsync.profile/1"): small, exact, read back by
 * the importer gradsync_profile. docs/formats.md lists the fields. */
#ifndef GS_TRACES_PROFILE_JSON_H
#define GS_TRACES_PROFILE_JSON_H

#include "base/json.h"
#include "traces/importers/importer.h"

#define GS_PROFILE_SCHEMA "gradsync.profile/1"

/* Names of gs_segment_kind in files: "input", "forward", ... Static storage. */
const char *gs_segment_name(gs_segment_kind kind);

/* Writes profile, curves and notes of imported into the object `into`. Errors: GS_ENOMEM; into is
 * then of no use but to be freed. */
GS_MUST_USE gs_status gs_trace_import_json(const gs_imported *imported, gs_json *into);

#endif
