# schema.awk: results/SCHEMA.md from the headers sg_frame.h and sg_document.h, whose structures are a result's schema.
# SPDX-License-Identifier: MIT

function kind(type, list) {
    sub(/^const /, "", type)
    sub(/ $/, "", type)
    if (type == "char *") return "text"
    if (type == "double") return "number"
    if (type == "bool") return "boolean"
    if (type == "enum sg_flag") return "boolean or null"
    if (type == "cJSON *") return "any"
    if (type == "struct sg_number_list") return "numbers"
    if (type == "struct sg_text_list") return "texts"
    if (type == "struct sg_frame") return "list of [label](#label)"
    sub(/^struct sg_document_/, "", type)
    sub(/ \*$/, "", type)
    return (type in named ? "by key, " : list ? "list of " : "") "[" type "](#" type ")"
}

# A member: its type, its name and the comment behind it, which may go on in the next lines.
function member(line,    declared, comment, name, type) {
    comment = line
    sub(/^[^;]*; *\/\* /, "", comment)
    sub(/ \*\/$/, "", comment)
    declared = line
    sub(/;.*/, "", declared)
    sub(/^ +/, "", declared)
    name = declared
    sub(/.*[ *]/, "", name)
    type = substr(declared, 1, length(declared) - length(name))
    if (type == "size_t ") { n_list = substr(name, 3); return }
    if (name == "name" && comment ~ /^of the key/) { named[part]; return }
    sub(/_$/, "", name)
    row[part] = row[part] "* `" name "` (" kind(type, n_list == name) "): " comment "\n"
    n_list = ""
}

/^\/\* / { text = ""; open = 1 }
open {
    line = $0
    sub(/^\/\* /, "", line)
    sub(/^ \* ?/, "", line)
    open = line !~ /\*\/$/
    sub(/ ?\*\/$/, "", line)
    text = text (text == "" ? "" : "\n") line
}
/^struct sg_document(_[a-z]+)? \{$/ || /^struct sg_frame_label \{$/ {
    part = $2
    sub(/^sg_document_/, "", part)
    sub(/^sg_document$/, "result", part)
    sub(/^sg_frame_label$/, "label", part)
    order[++n] = part
    about[part] = text
    next
}
/^ \*   (series|final)  / && !done[$2]++ {
    line = $0
    sub(/^ \* +[a-z]+ +/, "", line)
    sub(/ \*\/$/, "", line)
    made = made "* `" $2 "` (object): `" line "`\n"
}
/^(\}|$)/ { part = "" }
part != "" && /^    / && !/\*from;/ {
    pending = pending (pending == "" ? "" : " ") $0
    if (pending ~ /\*\/$/ || pending !~ /\/\*/) { member(pending); pending = "" }
}

# A text in lines of at most 100 characters.
function wrapped(text,    word, count, i, out, width) {
    count = split(text, word, /[ \n]+/)
    for (i = 1; i <= count; i++) {
        out = out (i == 1 ? "" : width + length(word[i]) + 1 > 100 ? "\n" : " ") word[i]
        width = i == 1 || width + length(word[i]) + 1 > 100 ? length(word[i]) : width + length(word[i]) + 1
    }
    return out
}

function table(part) {
    printf "\n## %s\n\n%s\n\n%s%s", part, wrapped(about[part]), row[part],
        part == "label" ? made : ""
}
END {
    print "# The schema of a result\n"
    print "`make reference` makes this page from the structures in `lib/result/sg_document.h` and `sg_frame.h`."
    print "A result of `sparsebench` is a JSON object of schema `sparsebench/1`. Any value may be null, which"
    print "says that it is not known. A reader leaves keys alone that are not listed here."
    print "[DEFINITIONS.md](DEFINITIONS.md) has the formulas of the numbers."
    table("result")
    for (i = 1; i <= n; i++)
        if (order[i] != "result")
            table(order[i])
}
