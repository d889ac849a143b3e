#ELASTANE --gpus 2 --bach 64
echo hello
