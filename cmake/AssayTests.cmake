# assay_add_tests(CONTRACT file CORPUS folder [NAME name])
#
# Every file of the corpus's shelves (seeds/, regressions/, open/) becomes a ctest. The files are
# listed when ctest runs, so that a new entry needs no configuring: copy it in and run ctest. Files in
# seeds/ and regressions/ must pass; those in open/ must still fail exactly as they record. A corpus
# without a file fails a test of its own: zero cases never pass; and so does what lies beside the
# shelves, a folder of another name or a case, which would never run.
#
# In another project: set ASSAY_REPLAY to Assay's build/replay, include this file and call it.
set(ASSAY_LIST_CORPUS ${CMAKE_CURRENT_LIST_DIR}/ListCorpus.cmake)

function(assay_add_tests)
  cmake_parse_arguments(ARG "" "CONTRACT;CORPUS;NAME" "" ${ARGN})
  if(NOT ARG_CONTRACT OR NOT ARG_CORPUS OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "assay_add_tests(CONTRACT file CORPUS folder [NAME name])")
  endif()
  get_filename_component(contract ${ARG_CONTRACT} ABSOLUTE)
  get_filename_component(corpus ${ARG_CORPUS} ABSOLUTE)
  if(NOT EXISTS ${contract} OR IS_DIRECTORY ${contract})
    message(FATAL_ERROR "assay_add_tests: CONTRACT ${contract} is no file")
  endif()
  if(NOT IS_DIRECTORY ${corpus})
    message(FATAL_ERROR "assay_add_tests: CORPUS ${corpus} is no folder")
  endif()
  if(NOT ARG_NAME)
    get_filename_component(ARG_NAME ${ARG_CONTRACT} NAME_WE)
  endif()
  get_property(taken GLOBAL PROPERTY ASSAY_TESTS_${ARG_NAME})
  if(taken)
    message(FATAL_ERROR "assay_add_tests: the tests of ${taken} are named '${ARG_NAME}' already; "
                        "give these of ${contract} a NAME of their own")
  endif()
  set_property(GLOBAL PROPERTY ASSAY_TESTS_${ARG_NAME} ${contract})
  if(TARGET replay)
    set(replay $<TARGET_FILE:replay>)
  elseif(ASSAY_REPLAY)
    set(replay ${ASSAY_REPLAY})
  else()
    message(FATAL_ERROR "assay_add_tests: set ASSAY_REPLAY to Assay's replay program")
  endif()
  # ctest reads this file itself; what it includes runs at that time.
  set(list_file ${CMAKE_CURRENT_BINARY_DIR}/assay_corpus_${ARG_NAME}.cmake)
  file(GENERATE OUTPUT ${list_file} CONTENT
"set(assay_replay [==[${replay}]==])
set(assay_contract [==[${contract}]==])
set(assay_corpus [==[${corpus}]==])
set(assay_name [==[${ARG_NAME}]==])
include([==[${ASSAY_LIST_CORPUS}]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${list_file})
endfunction()
