import type { AgentConfig } from '#agent/config.ts';
import { type Inventory, readInventory } from '#agent/hardware/inventory.ts';
import { readInterfaces } from '#agent/hardware/network-interfaces.ts';
import { type HeardLldp, listenForLldp } from '#agent/network/listen-lldp.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import { type Run, start } from '#shared/process/run.ts';

/** The inventory of one run of the agent; where asked for, it listens to the switches from now on. */
export interface AgentInventory {
  /** Waits until the switches have been listened to. */
  read(): Promise<Inventory>;
  /** Ends listening, once the signal has aborted. */
  close(): Promise<void>;
}

export function openInventory(
  config: Pick<AgentConfig, 'bootMac' | 'lldp'>,
  machine: { readonly run: Run; readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): AgentInventory {
  const lldp = config.lldp && listen(config.lldp.timeoutMs, machine);
  return {
    read: () => readInventory({ ...machine, bootMac: config.bootMac, lldp }),
    close: async () => {
      await lldp;
    },
  };
}

async function listen(timeoutMs: number, machine: Parameters<typeof openInventory>[1]): Promise<HeardLldp> {
  try {
    const nics = (await readInterfaces({ sys: '/sys' }, machine.run)).filter((nic) => nic.has_carrier);
    return await listenForLldp(nics, timeoutMs, { ...machine, start });
  } catch (error) {
    machine.log.warn({ err: error }, 'could not list the network cards to listen on');
    return new Map();
  }
}
