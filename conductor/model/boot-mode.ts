export type BootMode = 'uefi' | 'bios';
