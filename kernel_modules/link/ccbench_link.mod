/work/main/kernel_modules/link/main.o
/work/main/kernel_modules/link/bottleneck.o
/work/main/kernel_modules/link/delay.o
/work/main/kernel_modules/link/log.o
