# Makes a man page from what a program says with --help and from a page of prose:
#   PROGRAM --help | awk -v version=VERSION -f cmd/man.awk - cmd/PROGRAM.man
# Name, synopsis, options and examples are those of --help. The prose is roff. In its section OPTIONS, `.OP --a --b` begins what
# is said of these options in the place of their help, under one heading; in its section EXAMPLES are more of them.
# SPDX-License-Identifier: MIT
function fail(text) {
    print "man.awk: " FILENAME ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

# The help of an option as a sentence: "x, y [0]" becomes "X, y. Default: 0."
function sentence(text,    at) {
    at = match(text, / \[[^\]]*\]$/)
    if (at)
        text = substr(text, 1, at - 1) ". Default: " substr(text, at + 2, length(text) - at - 2)
    return roff(toupper(substr(text, 1, 1)) substr(text, 2)) "."
}

# "-o, --output=FILE": what is typed in bold, what stands for a value in italics.
function heading(option,    at) {
    at = match(option, /=[A-Z].*$/)
    if (option ~ /\[=/)
        return ".B " roff(option)
    return at ? ".BI \"" roff(substr(option, 1, at)) "\" " roff(substr(option, at + 1)) : ".B " roff(option)
}

# ---- --help ----

FNR == NR && FNR == 1 {
    state = "usage"
    sub(/^usage: /, "")
    program = $1
}
FNR == NR && state == "usage" {
    sub(/^ +/, "")
    if ($1 == program) {
        usage[++usages] = substr($0, length(program) + 2)
        next
    }
    state = "summary"
}
FNR == NR && state == "summary" && NF {
    summary = summary (summary ? " " : "") $0
    next
}
FNR == NR && /^[A-Z][^.]*:$/ && state != "details" {
    state = "options"
    group = substr($0, 1, length($0) - 1)
    ends = group == "Help"
    next
}
FNR == NR && !NF {
    if (ends)
        state = "details"
    if (state == "summary" && summary)
        state = "begun"
    if (shows)
        shows = 2 # examples end with a blank line
    next
}
FNR == NR && state == "options" && /^  (    )?-/ {
    option = $1 ~ /,$/ ? $1 " " $2 : $1
    n = ++options
    spelt[n] = option
    under[n] = group
    sub(/^ +/, "")
    text[n] = substr($0, length(option) + 1)
    name = option
    sub(/^-., /, "", name)
    sub(/\[?=.*/, "", name)
    number[name] = n
    sub(/^ +/, "", text[n])
    next
}
FNR == NR && state == "options" {
    sub(/^ +/, "")
    text[n] = text[n] " " $0
    next
}
FNR == NR && $0 == "Examples:" {
    shows = 1
    next
}
FNR == NR && shows == 1 {
    sub(/^  /, "")
    example[++examples] = $0
}
FNR == NR { next }

# ---- the prose ----

function put_options(    i, n, last) {
    for (n = 1; n <= options; n++) {
        if (n in with)
            continue
        if (under[n] != last)
            print ".SS " roff(last = under[n])
        print ".TP"
        print heading(spelt[n])
        for (i = n + 1; i <= options; i++)
            if (i in with && with[i] == n)
                print ".TQ\n" heading(spelt[i])
        printf "%s", n in prose ? prose[n] : sentence(text[n]) "\n"
    }
}

function put_examples(    i) {
    print ".SH EXAMPLES\n.nf"
    for (i = 1; i <= examples; i++)
        print roff(example[i])
    printf "%s.fi\n", more
}

function begin_page(    i, first) {
    printf ".TH %s 1 \"\" \"sparsegrad %s\" \"User commands\"\n.SH NAME\n", roff(toupper(program)), version
    sub(/\.$/, "", summary)
    print roff(program) " \\- " roff(tolower(substr(summary, 1, 1)) substr(summary, 2)) "\n.SH SYNOPSIS"
    for (i = 1; i <= usages; i++)
        print (i > 1 ? ".br\n" : "") ".B " roff(program) "\n" roff(usage[i])
}

# Options and examples are put where their section ends.
function end_section() {
    if (section == ".SH OPTIONS")
        put_options()
    if (section == ".SH EXAMPLES")
        put_examples()
}

FNR == 1 { begin_page() }
/^\.SH / {
    end_section()
    seen[section = $0] = 1
    if (section == ".SH OPTIONS")
        print
    if (section == ".SH OPTIONS" || section == ".SH EXAMPLES")
        next
}
section == ".SH OPTIONS" && $1 == ".OP" {
    for (i = 2; i <= NF; i++) {
        if (!($i in number))
            fail("--help has no " $i)
        if (i > 2)
            with[number[$i]] = number[$2]
    }
    of = number[$2]
    prose[of] = ""
    next
}
section == ".SH OPTIONS" {
    prose[of] = prose[of] $0 "\n"
    next
}
section == ".SH EXAMPLES" {
    more = more $0 "\n"
    next
}
{ print }
END {
    if (failed)
        exit 1
    if (!seen[".SH OPTIONS"] || !seen[".SH EXAMPLES"] || !options || !examples)
        fail("no section OPTIONS or EXAMPLES, or no --help before it")
    end_section()
}
