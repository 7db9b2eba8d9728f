# SPDX-License-Identifier: GPL-2.0-or-later
# add_patched_sources(NAME PATCH): the target NAME copies the sources that a patch changes into the directory NAME of
# the build tree and applies the patch to the copies. PATCH, and the paths in it, are relative to the current source
# directory. The patch may add headers but not change one. A copy whose content stays the same keeps its time, so a
# change of one source, or of one hunk, compiles only the files that it concerns. A target that compiles copies needs
# add_dependencies(TARGET NAME).
#
# The same file, run as a script, makes the copies.

# The files that a patch changes or adds.
function(read_patched patch patched)
    file(STRINGS ${patch} lines REGEX "^\\+\\+\\+ b/")
    list(TRANSFORM lines REPLACE "^\\+\\+\\+ b/([^\t]+).*$" "\\1")
    set(${patched} ${lines} PARENT_SCOPE)
endfunction()

function(add_patched_sources name patch)
    set(patch ${CMAKE_CURRENT_SOURCE_DIR}/${patch})
    set(copy ${CMAKE_CURRENT_BINARY_DIR}/${name})
    read_patched(${patch} patched)
    foreach(file ${patched})
        if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
            list(APPEND sources ${file})
        endif()
        list(APPEND copies ${copy}/${file})
        # A copy includes the headers beside the source.
        get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/${file} DIRECTORY)
        set_source_files_properties(${copy}/${file} PROPERTIES INCLUDE_DIRECTORIES ${folder})
    endforeach()
    add_custom_command(
        OUTPUT ${copy}.stamp
        BYPRODUCTS ${copies}
        COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR} -DPATCH=${patch} -DCOPY=${copy}
                -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        COMMAND ${CMAKE_COMMAND} -E touch ${copy}.stamp
        DEPENDS ${sources} ${patch} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        COMMENT "Patching a copy of the sources: ${name}"
        VERBATIM)
    add_custom_target(${name} DEPENDS ${copy}.stamp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
endfunction()

# Patch the copies in the directory FRESH, or stop with a sentence.
function(patch_fresh fresh)
    execute_process(
        COMMAND patch -p1 --fuzz=0 --no-backup-if-mismatch --force --quiet --directory=${fresh} --input=${PATCH}
        OUTPUT_VARIABLE report
        ERROR_VARIABLE report
        RESULT_VARIABLE failed)
    if(NOT failed)
        return()
    endif()
    file(GLOB_RECURSE rejected RELATIVE ${fresh} ${fresh}/*.rej)
    list(TRANSFORM rejected REPLACE "\\.rej$" "")
    if(NOT rejected)
        set(rejected "a file that is gone")
    endif()
    list(JOIN rejected ", " rejected)
    file(RELATIVE_PATH name ${SOURCE} ${PATCH})
    message(FATAL_ERROR "${name} does not apply to ${rejected}: lines that a hunk names have changed. Write them into "
                        "the hunk as they are now; ${fresh} has the rejected hunks, in files *.rej.\n${report}")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    set(fresh ${COPY}.fresh)
    file(REMOVE_RECURSE ${fresh})
    file(MAKE_DIRECTORY ${fresh})
    read_patched(${PATCH} patched)
    foreach(file ${patched})
        get_filename_component(folder ${file} DIRECTORY)
        if(EXISTS ${SOURCE}/${file})
            file(COPY ${SOURCE}/${file} DESTINATION ${fresh}/${folder})
        endif()
    endforeach()
    patch_fresh(${fresh})
    foreach(file ${patched})
        get_filename_component(folder ${COPY}/${file} DIRECTORY)
        file(MAKE_DIRECTORY ${folder})
        file(COPY_FILE ${fresh}/${file} ${COPY}/${file} ONLY_IF_DIFFERENT)
    endforeach()
    file(REMOVE_RECURSE ${fresh})
endif()
