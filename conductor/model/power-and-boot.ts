/** Power vocabulary of Ironic's API (ironic-api.md §3.7). */

export type PowerState = 'power on' | 'power off';

export const powerTargets = ['power on', 'power off', 'rebooting', 'soft rebooting', 'soft power off'] as const;
export type PowerTarget = (typeof powerTargets)[number];

/** Returns the state that a power action ends in. */
export function powerStateAfter(target: PowerTarget): PowerState {
  return target === 'power off' || target === 'soft power off' ? 'power off' : 'power on';
}

/** A promise that the machine does not lose power: what runs in it, or in its BMC, would leave it broken. */
export interface PowerHold {
  /** The flow step that asked for it, which alone may switch power meanwhile. */
  readonly step: string;
  /** ISO 8601; nothing holds from then on. */
  readonly until: string;
  /** `firmware.update may be under way`. */
  readonly why: string;
  /** Time that the hold of an agent's step lasts after each word that the agent is still at it. */
  readonly afterWordMs?: number;
  /** The machine has been off for the step's reset: one that is on again has been reset. */
  readonly wasOff?: boolean;
}

export const bootDevices = ['pxe', 'disk', 'cdrom', 'bios', 'safe'] as const;
/** `uefihttp`: the firmware's own HTTP boot, by Ironic's name; no IPMI has it. */
export type BootDevice = (typeof bootDevices)[number] | 'uefihttp';

export type BootMode = 'uefi' | 'bios';

/**
 * Events seen of a machine while it boots, in order: its DHCP answer, the boot script, the ramdisk's two files, the
 * agent's lookup and its first heartbeat. `refused` may come at any point: the conductor has not taken what it sent.
 */
export const bootEvents = ['dhcp', 'script', 'kernel', 'initrd', 'lookup', 'heartbeat', 'refused'] as const;
export type BootEventName = (typeof bootEvents)[number];

export interface BootEvent {
  readonly event: BootEventName;
  /** `10.1.0.50`, `ramdisk`; of `refused` the request, why, and what to do. */
  readonly detail?: string | undefined;
  /** Sent, of the files. */
  readonly bytes?: number | undefined;
}
