export const bootDevices = ['pxe', 'disk', 'cdrom', 'bios', 'safe'] as const;
/** `uefihttp`: the firmware's own HTTP boot, by Ironic's name; no IPMI has it. */
export type BootDevice = (typeof bootDevices)[number] | 'uefihttp';

export type BootMode = 'uefi' | 'bios';

/**
 * What is seen of a machine while it boots, in order: its DHCP answer, the boot script, the ramdisk's two files, the
 * agent's lookup and its first heartbeat.
 */
export const bootEvents = ['dhcp', 'script', 'kernel', 'initrd', 'lookup', 'heartbeat'] as const;
export type BootEventName = (typeof bootEvents)[number];

export interface BootEvent {
  readonly event: BootEventName;
  /** `10.1.0.50`, `ramdisk`. */
  readonly detail?: string | undefined;
  /** Sent, of the files. */
  readonly bytes?: number | undefined;
}
