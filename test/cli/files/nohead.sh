#ELASTANE --gpus 2
echo hello
