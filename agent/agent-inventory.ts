import type { AgentConfig } from '#agent/config.ts';
import { type Inventory, readInventory } from '#agent/hardware/inventory.ts';
import { listPhysicalInterfaces, readInterfaces } from '#agent/machine/network-interfaces.ts';
import { type LldpByNic, listenForLldp } from '#agent/network/listen-lldp.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import { type Run, start } from '#shared/process/run.ts';
import type { HeardLldp, LldpTlv } from '#shared/wire/inventory.ts';

/** The inventory of one run of the agent; where asked for, it listens to the switches from now on. */
export interface AgentInventory {
  /** Waits until the switches have been listened to. */
  read(): Promise<Inventory>;
  /** Resolves with what switches have said so far; the first call has the agent listen, in the background. */
  heardLldp(): Promise<HeardLldp>;
  /** Ends listening, once the signal has aborted. */
  close(): Promise<void>;
}

/** Switches speak every 30 s; one frame may be lost. */
const backgroundMs = 65_000;

type Machine = { readonly run: Run; readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal };

export function openInventory(config: Pick<AgentConfig, 'bootMac' | 'lldp'>, machine: Machine): AgentInventory {
  const heard = new Map<string, readonly LldpTlv[]>();
  const onHeard = (nic: string, tlvs: readonly LldpTlv[]): void => void heard.set(nic, tlvs);
  // one at a time: each has the same taps
  let listening: Promise<void> | undefined;
  if (config.lldp) listening = listen(config.lldp.timeoutMs, { ...machine, wakesFirmware: true, onHeard });
  const listened = listening?.then((): LldpByNic => heard);
  return {
    read: () => readInventory({ ...machine, bootMac: config.bootMac, lldp: listened }),
    heardLldp: async () => {
      // the firmware's flags would stay as they are set, for the system that is being deployed
      listening ??= listen(backgroundMs, { ...machine, wakesFirmware: false, onHeard });
      const nics = await listPhysicalInterfaces();
      return {
        interfaces: nics.flatMap(({ name, macAddress }) => {
          const lldp = heard.get(name);
          return lldp ? [{ mac_address: macAddress, lldp: [...lldp] }] : [];
        }),
      };
    },
    close: async () => {
      await listening;
    },
  };
}

async function listen(
  timeoutMs: number,
  machine: Machine & Pick<Parameters<typeof listenForLldp>[2], 'wakesFirmware' | 'onHeard'>,
): Promise<void> {
  try {
    const nics = (await readInterfaces({ sys: '/sys' }, machine.run)).filter((nic) => nic.has_carrier);
    await listenForLldp(nics, timeoutMs, { ...machine, start });
  } catch (error) {
    machine.log.warn({ err: error }, 'could not list the network cards to listen on');
  }
}
