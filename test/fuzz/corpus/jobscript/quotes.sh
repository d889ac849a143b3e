#ELASTANE -n "a\"b" -e 'A=x y' --env=B --batch 1..2
#ELASTANE --name "open
