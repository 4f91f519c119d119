#### f(){ foo; }; f
f(){ foo; }; f
#### echo ${x?}; echo hi
echo ${x?}; echo hi
#### echo $((1/0)); echo hi echo two
echo $((1/0)); echo hi
echo two
#### set -u; echo $x; echo hi
set -u; echo $x; echo hi
#### echo ${x!}; echo hi
echo ${x!}; echo hi
#### readonly x=1; x=2 true; echo hi $?
readonly x=1; x=2 true; echo hi $?
#### readonly x; f(){ local x=1; echo in; }; f; echo $?
readonly x; f(){ local x=1; echo in; }; f; echo $?
#### x=1+; declare -i y=x; echo hi
x=1+; declare -i y=x; echo hi
#### cd /nonexist; echo $?
cd /nonexist; echo $?
#### a=(1 2); echo ${a[b c]}; echo hi
a=(1 2); echo ${a[b c]}; echo hi
#### ((1+)); echo $?
((1+)); echo $?
#### let 1+; echo $?
let 1+; echo $?
#### printf %d abc; echo $?
printf %d abc; echo $?
#### return; echo $?
return; echo $?
#### break; echo $?
break; echo $?
#### f(){ echo $LINENO $FUNCNAME ${BASH_SOURCE[@]} ${BASH_LINENO[
f(){ echo $LINENO $FUNCNAME ${BASH_SOURCE[@]} ${BASH_LINENO[@]}; }; 
f
#### exec nonexist; echo hi
exec nonexist; echo hi
#### /nonexist; echo $?
/nonexist; echo $?
#### . nofile; echo $?
. nofile; echo $?
#### unset 1a; echo $?
unset 1a; echo $?
#### export 1a=2; echo $?
export 1a=2; echo $?
#### echo > /nonexist/x; echo $?
echo > /nonexist/x; echo $?
#### echo >&9; echo $?
echo >&9; echo $?
#### shift 5; echo $?
shift 5; echo $?
#### kill -0 99999; echo $?
kill -0 99999; echo $?
#### wait 99999; echo $?
wait 99999; echo $?
#### test 1 -eq a; echo $?
test 1 -eq a; echo $?
#### [ a b c ]; echo $?
[ a b c ]; echo $?
#### [ 1 ; echo $?
[ 1 ; echo $?
#### declare -z; echo $?
declare -z; echo $?
#### eval "if"; echo $?
eval "if"; echo $?
#### eval "echo )"; echo $?
eval "echo )"; echo $?
#### x=5; ${x:=4}
x=5; ${x:=4}
#### for 1a in b; do :; done; echo $?
for 1a in b; do :; done; echo $?
#### unalias foo
unalias foo
#### local x
local x
#### set -o foo; echo $?
set -o foo; echo $?
#### shopt foo; echo $?
shopt foo; echo $?
#### type foo
type foo
#### getopts; echo $?
getopts; echo $?
#### read -z; echo $?
read -z; echo $?
#### umask 999; echo $?
umask 999; echo $?
#### if then
if then
#### echo $(
echo $(
#### echo ${
echo ${
#### case x in
case x in
#### foo (
foo (
#### for
for
#### echo a; )
echo a; )
#### echo 'a
echo 'a
#### while :
while :
#### { echo
{ echo
#### ((1
((1
#### echo `a
echo `a
#### [[ a b c ]]
[[ a b c ]]
#### a && && b
a && && b
#### if a; then b c
if a; then b
c
#### echo one if then
echo one
if then
#### echo "${a[@]"; echo x
echo "${a[@]"; echo x
#### f() { echo a; if true; then echo b; else echo c; fi; for i i
f() { echo a; if true; then echo b; else echo c; fi; for i in 1 2; do echo $i; done; while false; do x; done; case $x in a|b) echo q;; *) z;; esac; ( a; b ); [[ -n $x && a == b ]]; (( x++ )); a && b || c; a | b; foo=bar cmd >x 2>&1; cat <<E
hello
E
local x=(1 2 3); function g { echo; }; until a; do b; done; for ((i=0;i<3;i++)); do c; done; select q in a; do d; done; if a; then b; elif c; then d; fi; a & b; ! a; time b; { a; b; } > out; }; declare -f f; type f
#### trap 'echo exit' EXIT; echo a; (echo b); trap
trap 'echo exit' EXIT; echo a; (echo b); trap
#### set -e; false || true; if false; then :; fi; ! true; f() { f
set -e; false || true; if false; then :; fi; ! true; f() { false; echo no; }; f || echo ok; false; echo never
