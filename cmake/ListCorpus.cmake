# Read by ctest: one test a corpus file (cmake/AssayTests.cmake sets the variables).
set(assay_found FALSE)
foreach(assay_shelf seeds regressions open)
  file(GLOB assay_files ${assay_corpus}/${assay_shelf}/*)
  list(FILTER assay_files EXCLUDE REGEX "/\\.[^/]*$")
  foreach(assay_file IN LISTS assay_files)
    get_filename_component(assay_entry ${assay_file} NAME_WLE)
    set(assay_test corpus.${assay_name}.${assay_shelf}.${assay_entry})
    add_test(${assay_test} ${assay_replay} --contract ${assay_contract} ${assay_file})
    # Replay's status 4: the device does not support what the case needs; ctest shows it as skipped.
    set_tests_properties(${assay_test} PROPERTIES SKIP_RETURN_CODE 4 TIMEOUT 120 LABELS corpus)
    set(assay_found TRUE)
  endforeach()
endforeach()
if(NOT assay_found)
  # A corpus without a file: replay says so and fails.
  add_test(corpus.${assay_name}.is_not_empty ${assay_replay} --contract ${assay_contract} ${assay_corpus})
endif()
