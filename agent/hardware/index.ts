import { genericHardwareManager } from '#agent/hardware/generic.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';

/** The hardware managers, each of which says at start whether this is its machine. */
export const hardwareManagers: readonly HardwareManager[] = [genericHardwareManager];
