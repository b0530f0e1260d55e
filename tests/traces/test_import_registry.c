#include "traces/importers/importer.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <string.h>

static gs_error err;

Test(import_registry, importers_are_sorted_complete_and_found_by_name)
{
    cr_assert_gt(gs_importer_count(), 0);
    for (size_t i = 0; i < gs_importer_count(); i++) {
        const gs_importer *importer = gs_importer_at(i);
        cr_assert_not_null(importer->probe);
        cr_assert_not_null(importer->read);
        cr_assert_neq(importer->summary[0], '\0');
        cr_assert_neq(importer->source[0], '\0');
        cr_assert_eq(gs_importer_find(importer->name), importer);
        cr_assert(i == 0 || strcmp(gs_importer_at(i - 1)->name, importer->name) < 0);
    }
    cr_assert_null(gs_importer_at(gs_importer_count()));
    cr_assert_null(gs_importer_find("nothing"));
}

Test(import_registry, real_files_are_told_apart)
{
    static const struct {
        const char *file;
        const char *format;
    } FILES[] = {
        {"traces/kineto/cpu_only_no_distributed_info.json", "kineto"},
        {"traces/kineto/dlrm_8ranks/worker7.pt.trace.json.gz", "kineto"},
        {"traces/nccl_tests/h100_10nodes_1gpu_each.log", "nccl_tests"},
        {"traces/nccl_tests/h100_p5_efa_2nodes_excerpt_mpi_prefix.log", "nccl_tests"},
        {"traces/nccl_topo_xml/aws_p4d-24xl-topo.xml", "nccl_topo"},
        {"traces/nccl_topo_xml/azure_ncv4-graph.xml", "nccl_topo"},
        {"traces/nccl_topo_xml/dump_8x_rtx3090_pcie_1ib.xml", "nccl_topo"},
        {"traces/nvidia_smi_topo/2x_phb.txt", "smi_topo"},
        {"traces/nvidia_smi_topo/8x_h100_p2p_r.txt", "smi_topo"},
        {"traces/nvidia_smi_topo/8x_v100_cubemesh_uneven_tabs.txt", "smi_topo"},
    };
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        const char *file = test_data_path(FILES[i].file);
        const gs_importer *found = NULL;
        cr_assert_eq(gs_importer_probe(&file, 1, &found, &err), GS_OK, "%s", err.text);
        cr_assert_str_eq(found->name, FILES[i].format);
    }
}

/* Formats that have no importer must not be taken for one that has. */
Test(import_registry, files_of_other_formats_are_refused_with_the_known_ones)
{
    static const char *const FILES[] = {
        "traces/iperf3/own_tcp_text.txt", "traces/ping/own_ping_q.txt",
        "traces/goal/binary_tree_32.goal", "traces/simgrid/griffon.xml",
        "traces/failures/acme_cluster_summary.csv"};
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        const char *file = test_data_path(FILES[i]);
        const gs_importer *found = NULL;
        cr_assert_eq(gs_importer_probe(&file, 1, &found, &err), GS_EPARSE, "%s", file);
        cr_assert(strstr(err.text, "known are: ") != NULL, "%s", err.text);
        cr_assert(strstr(err.text, "kineto") != NULL, "%s", err.text);
    }
}

static gs_status probe_text(const char *text, const char *second)
{
    char paths[2][TEST_PATH_BYTES];
    const gs_importer *found = NULL;
    test_temp_file(paths[0], text, strlen(text));
    test_temp_file(paths[1], second == NULL ? "" : second, second == NULL ? 0 : strlen(second));
    const char *files[] = {paths[0], paths[1]};
    return gs_importer_probe(files, second == NULL ? 1 : 2, &found, &err);
}

Test(import_registry, what_cannot_be_imported_together_is_refused)
{
    static const char KINETO[] = "{\"schemaVersion\": 1, \"traceEvents\": []}";
    cr_assert_eq(probe_text(KINETO, NULL), GS_OK);
    cr_assert_eq(probe_text(KINETO, "# nThread 1 nGpus 1\n"), GS_EPARSE);
    cr_assert(strstr(err.text, "import them one by one") != NULL, "%s", err.text);
    cr_assert_eq(probe_text("", NULL), GS_EPARSE);
    cr_assert(strstr(err.text, "the file is empty") != NULL, "%s", err.text);
}

Test(import_registry, no_file_and_no_such_format_are_errors)
{
    gs_arena arena;
    gs_imported imported;
    const gs_importer *found = NULL;
    const char *file = "x";
    gs_import_options options = {.format = "kinetto"};
    gs_arena_init(&arena);
    cr_assert_eq(gs_importer_probe(NULL, 0, &found, &err), GS_EINVAL);
    cr_assert_eq(gs_import(NULL, 0, NULL, &arena, &imported, &err), GS_EINVAL);
    cr_assert_eq(gs_import(&file, 1, &options, &arena, &imported, &err), GS_ENOTFOUND);
    cr_assert(strstr(err.text, "no format \"kinetto\"; known are: ") != NULL, "%s", err.text);
    gs_arena_fini(&arena);
}
