# identity.awk: C and C++ sources without their comments and layout, so that a hash of the rest changes with the code only.
# Words are kept apart by one blank, everything else by none; a directive keeps its line. Quoted text stays as it is.
# SPDX-License-Identifier: MIT
function put(token, is_word) {
    printf "%s%s", (is_word && after_word) ? " " : "", token
    after_word = is_word
}
{
    line = $0
    sub(/\r$/, "", line)
    if (!in_comment && !goes_on && line ~ /^[ \t]*#/) {
        printf "\n"
        after_word = 0
        directive = 1
    }
    goes_on = 0
    while (line != "") {
        if (in_comment) {
            end = index(line, "*/")
            in_comment = !end
            line = end ? substr(line, end + 2) : ""
        } else if (match(line, /^[ \t\f\v]+/)) {
            line = substr(line, RLENGTH + 1)
        } else if (match(line, /^[A-Za-z0-9_.]+/)) {
            put(substr(line, 1, RLENGTH), 1)
            line = substr(line, RLENGTH + 1)
        } else if (line ~ /^\/\//) {
            line = ""
        } else if (line ~ /^\/\*/) {
            in_comment = 1
            line = substr(line, 3)
        } else if (line == "\\") {
            goes_on = 1
            line = ""
        } else if (match(line, /^"([^"\\]|\\.)*"/) || match(line, /^'([^'\\]|\\.)*'/)) {
            put(substr(line, 1, RLENGTH), 0)
            line = substr(line, RLENGTH + 1)
        } else {
            put(substr(line, 1, 1), 0)
            line = substr(line, 2)
        }
    }
    if (directive && !in_comment && !goes_on) {
        printf "\n"
        after_word = directive = 0
    }
}
