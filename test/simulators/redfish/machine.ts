/** The machine behind a simulated BMC; the lab puts a QEMU machine here. */

export const simulatedBootDevices = ['none', 'pxe', 'http', 'disk', 'cdrom', 'bios'] as const;
export type SimulatedBootDevice = (typeof simulatedBootDevices)[number];

export interface SimulatedBoot {
  readonly device: SimulatedBootDevice;
  /** `true` = for the next boot only. */
  readonly once: boolean;
  readonly mode: 'uefi' | 'bios';
}

export type SimulatedPowerAction = 'on' | 'off' | 'reset' | 'graceful';

export interface SimulatedMachine {
  getPower(): 'on' | 'off' | Promise<'on' | 'off'>;
  /** Starts the action; `graceful` may take effect later. */
  setPower(action: SimulatedPowerAction): void | Promise<void>;
  getBoot(): SimulatedBoot | Promise<SimulatedBoot>;
  setBoot(boot: SimulatedBoot): void | Promise<void>;
  /** Fills its virtual CD drive with the image at this URL, or empties it; a machine without one ignores both. */
  setMedia?(url: string | undefined): void | Promise<void>;
}

export interface MemoryMachine extends SimulatedMachine {
  /** Actions that were asked of the machine, in order. */
  readonly actions: readonly SimulatedPowerAction[];
}

/** A machine in memory; an override for one boot is used up when it powers on or resets. */
export function createMemoryMachine(): MemoryMachine {
  const actions: SimulatedPowerAction[] = [];
  let power: 'on' | 'off' = 'off';
  let boot: SimulatedBoot = { device: 'none', once: false, mode: 'uefi' };
  return {
    actions,
    getPower: () => power,
    setPower: (action) => {
      actions.push(action);
      const boots = action === 'reset' || (action === 'on' && power === 'off');
      if (boots && boot.once) boot = { ...boot, device: 'none', once: false };
      power = action === 'on' || action === 'reset' ? 'on' : 'off';
    },
    getBoot: () => boot,
    setBoot: (next) => {
      boot = next;
    },
  };
}
