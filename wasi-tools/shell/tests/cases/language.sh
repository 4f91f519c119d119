#### set -o pipefail; false | true; echo $? ${PIPESTATUS[@]}; tru
set -o pipefail; false | true; echo $? ${PIPESTATUS[@]}; true | false | true; echo "${PIPESTATUS[@]}"
#### x="a b"; set -- $x "$x" ''; echo $# ; for i; do echo "[$i]";
x="a  b"; set -- $x "$x" ''; echo $# ; for i; do echo "[$i]"; done; IFS=:; y=a:b::c; set -- $y; echo $#; echo "$*"
#### declare -A m=([x]=1 [y]=2 [foo bar]=3); echo "${!m[@]}" "${m
declare -A m=([x]=1 [y]=2 [foo bar]=3); echo "${!m[@]}" "${m[@]}"; declare -p m; unset "m[x]"; echo ${#m[@]}
#### a=(one two three); echo "${a[@]:1}" "${a[@]/o/0}" "${a[@]^}"
a=(one two three); echo "${a[@]:1}" "${a[@]/o/0}" "${a[@]^}" "${!a[@]}" "${a[-1]}"; a+=(four); a[10]=x; declare -p a
#### echo ${x:-def} ${x:=set} $x ${x:+alt} ${#x}; y=hello.tar.gz;
echo ${x:-def} ${x:=set} $x ${x:+alt} ${#x}; y=hello.tar.gz; echo ${y%.*} ${y%%.*} ${y#*.} ${y##*.} ${y/l/L} ${y//l/L} ${y^^} ${y:1:3} ${y: -2} ${y@Q}
#### coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; e
coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; echo got $x
#### exec 3>f; echo hi >&3; exec 3>&-; cat f; exec {fd}<f; read l
exec 3>f; echo hi >&3; exec 3>&-; cat f; exec {fd}<f; read l <&$fd; echo $l $fd
#### echo $(echo a; echo b) "$(printf 'x\n\n')"; x=$(false); echo
echo $(echo a; echo b) "$(printf 'x\n\n')"; x=$(false); echo $?; echo `echo \`echo nested\``
#### alias ll='echo alias'; ll x shopt -s expand_aliases alias ll
alias ll='echo alias'; ll x
shopt -s expand_aliases
alias ll='echo alias'
ll x
#### [[ abc == a* && ! abc == b* ]]; echo $?; [[ "a.c" =~ ^a\.c$ 
[[ abc == a* && ! abc == b* ]]; echo $?; [[ "a.c" =~ ^a\.c$ ]]; echo $?; [[ abc =~ ^(a)(b)?(x)?c ]]; echo ${#BASH_REMATCH[@]} "${BASH_REMATCH[@]}"
#### printf '%s|%5d|%-5s|%x|%o|%e|%g|%c|%q|%b\n' a 42 ab 255 8 1.
printf '%s|%5d|%-5s|%x|%o|%e|%g|%c|%q|%b\n' a 42 ab 255 8 1.5 0.0001 xyz 'a b' 'x\ty'; printf -v v '%03d' 7; echo $v; printf '%s-' a b c; echo
#### f() { local i=$1; ((i<=0)) && return; echo $i; f $((i-1)); }
f() { local i=$1; ((i<=0)) && return; echo $i; f $((i-1)); }; f 3; echo ${FUNCNAME[0]}
#### getopts ab:c o -a -b val -x; echo $o $OPTARG $OPTIND
getopts ab:c o -a -b val -x; echo $o $OPTARG $OPTIND
#### while getopts ":ab:" o -a -bfoo -z; do echo "$o $OPTARG"; do
while getopts ":ab:" o -a -bfoo -z; do echo "$o $OPTARG"; done
#### mapfile -t a <<< $'x\ny\nz'; echo ${#a[@]} ${a[1]}; read -r 
mapfile -t a <<< $'x\ny\nz'; echo ${#a[@]} ${a[1]}; read -r a b c <<< "1 2 3 4"; echo "$c"; IFS=, read -ra p <<< "x,y,z"; echo ${p[2]}
#### set -x; echo a "b c"; x=1; [[ a == b ]]; for i in 1; do :; d
set -x; echo a "b c"; x=1; [[ a == b ]]; for i in 1; do :; done; (( x + 1 )); case a in a) ;; esac
#### declare -i n=5; n+=3; echo $n; declare -u U=abc; echo $U; de
declare -i n=5; n+=3; echo $n; declare -u U=abc; echo $U; declare -r R=1; R=2; echo after
#### declare -n ref=foo; foo=bar; echo $ref; ref=baz; echo $foo; 
declare -n ref=foo; foo=bar; echo $ref; ref=baz; echo $foo; unset -n ref
#### trap 'echo ERR $?' ERR; false; trap 'echo usr1' USR1; kill -
trap 'echo ERR $?' ERR; false; trap 'echo usr1' USR1; kill -USR1 $$; echo x
#### echo ~ ~+ ~root "~"; x=~/foo; echo $x; echo a=~
echo ~ ~+ ~root "~"; x=~/foo; echo $x; echo a=~
#### echo $'a\tb\x41\u00e9\'' $"hi"; echo "a\$b\`c\"d\\e\f"
echo $'a\tb\x41\u00e9\'' $"hi"; echo "a\$b\`c\"d\\e\f"
#### shopt -s extglob; touch a.txt b.c c.txt; echo *.txt @(a|b)* 
shopt -s extglob; touch a.txt b.c c.txt; echo *.txt @(a|b)* !(*.txt); shopt -s nullglob; echo x*; echo [a-b]*
#### shopt -s extglob touch a.txt b.c c.txt; echo *.txt @(a|b)* !
shopt -s extglob
touch a.txt b.c c.txt; echo *.txt @(a|b)* !(*.txt); shopt -s nullglob; echo x*; echo [a-b]*
#### time_fmt() { TIMEFORMAT=; time :; }; time_fmt; echo ok
time_fmt() { TIMEFORMAT=; time :; }; time_fmt; echo ok
#### cat <(echo a) <(echo b); echo foo | tee >(cat >o) >/dev/null
cat <(echo a) <(echo b); echo foo | tee >(cat >o) >/dev/null; sleep 0.2; cat o
#### x=5; (( x += 2, y = x ** 2 )); echo $x $y $((x<<2)) $((y%7))
x=5; (( x += 2, y = x ** 2 )); echo $x $y $((x<<2)) $((y%7)) $((2#101)) $((0x1f)) $((010)) $(( x > 3 ? 1 : 0 )) $((~5)) $((!0))
#### select x in a b; do echo $x; break; done <<< 2
select x in a b; do echo $x; break; done <<< 2
#### { echo a; echo b >&2; } 2>&1 | sort -r; echo a |& cat; ls /n
{ echo a; echo b >&2; } 2>&1 | sort -r; echo a |& cat; ls /nonexist |& wc -l
#### echo "$@" "${@:2}" $# ; set -- a b c; echo "${@:2}" "${*:1:2
echo "$@" "${@:2}" $# ; set -- a b c; echo "${@:2}" "${*:1:2}" "${!#}" "$*"; shift; echo $1
#### echo a{b,c{d,e}}f {01..03} {a..e..2} {3..1} {x} {a,b "{a,b}"
echo a{b,c{d,e}}f {01..03} {a..e..2} {3..1} {x} {a,b "{a,b}" a{,b}
#### f() { echo $1; return 5; }; f hi; echo $?; x=$(f yo); echo $
f() { echo $1; return 5; }; f hi; echo $?; x=$(f yo); echo $x $?; f a | cat; echo ${PIPESTATUS[0]}
#### case abc in (a*) echo 1;;& *c) echo 2;& x) echo 3;; *) echo 
case abc in (a*) echo 1;;& *c) echo 2;& x) echo 3;; *) echo 4; esac
#### set -- a "b c"; for x in "$@"; do echo "<$x>"; done; y=("$@"
set -- a "b c"; for x in "$@"; do echo "<$x>"; done; y=("$@"); echo ${#y[@]}; echo "${y[*]}"
#### echo $0 $# $-; echo ${#@}; echo $$ | grep -c '[0-9]'
echo $0 $# $-; echo ${#@}; echo $$ | grep -c '[0-9]'
#### unset x; echo "${x-unset}" "${x:-null}"; x=; echo "${x-unset
unset x; echo "${x-unset}" "${x:-null}"; x=; echo "${x-unset}" "${x:-null}" "${x+set}"
#### command -v echo ls if nonexist; type -t echo ls if f; builti
command -v echo ls if nonexist; type -t echo ls if f; builtin echo hi; command echo x
#### (trap 'echo sub' EXIT; exit 4); echo $?; $(exit 3); echo $?;
(trap 'echo sub' EXIT; exit 4); echo $?; $(exit 3); echo $?; ! false; echo $?
#### x=1; (x=2; echo $x); echo $x; { x=3; }; echo $x; x=4 | :; ec
x=1; (x=2; echo $x); echo $x; { x=3; }; echo $x; x=4 | :; echo $x; echo 1 | { read y; echo $y; }; echo "[$y]"
#### echo a > f; echo b >> f; cat < f; : > f; cat f; set -C; echo
echo a > f; echo b >> f; cat < f; : > f; cat f; set -C; echo x > f; echo $?; echo y >| f; cat f
#### readonly r=1; r=2 echo next
readonly r=1; r=2
echo next
#### echo $LINENO echo $LINENO; f() { echo $LINENO; } f
echo $LINENO
echo $LINENO; f() {
echo $LINENO; }
f
