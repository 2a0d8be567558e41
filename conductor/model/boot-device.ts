export const bootDevices = ['pxe', 'disk', 'cdrom', 'bios', 'safe'] as const;
export type BootDevice = (typeof bootDevices)[number];
