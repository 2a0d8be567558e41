import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { InspectionInterface } from '#conductor/drivers/interfaces.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { readCards } from '#conductor/drivers/redfish/inspection/cards.ts';
import { readDisks } from '#conductor/drivers/redfish/inspection/disks.ts';
import { readMemory } from '#conductor/drivers/redfish/inspection/memory.ts';
import type { Ask } from '#conductor/drivers/redfish/inspection/part.ts';
import { readCpu } from '#conductor/drivers/redfish/inspection/processors.ts';
import type { ShownPart, UnknownPart } from '#conductor/drivers/shown-machine.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** Each processor, card and drive is a request of its own, and old BMCs take seconds for one. */
const timeoutMs = 10 * 60_000;

/** Reads the machine as Ironic's `redfish` inspection does (DMTF ComputerSystem, Processor, EthernetInterface, Storage). */
export function redfishInspection(system: RedfishSystem): InspectionInterface {
  const { client } = system;
  return {
    readMachine: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const { data } = await system.read(signal);
      const unknown: UnknownPart[] = [];
      const part = async <T>(name: ShownPart, read: (ask: Ask) => Promise<T>): Promise<T> => {
        const ask: Ask = { client, signal, unread: [], missing: [] };
        const found = await read(ask);
        const reasons = [...ask.missing, ...ask.unread.map(({ error }) => errorChain(error))];
        unknown.push(...reasons.map((why) => ({ part: name, why })));
        return found;
      };
      // one after the other: a BMC has room for two requests, and others may be under way
      const cpu = await part('cpu', (ask) => readCpu(ask, data));
      const memoryMb = await part('memory', (ask) => readMemory(ask, data));
      const cards = await part('interfaces', (ask) => readCards(ask, data));
      const disks = await part('disks', (ask) => readDisks(ask, data));
      return {
        vendor: {
          manufacturer: data.Manufacturer || undefined,
          model: data.Model || undefined,
          serial: data.SerialNumber || undefined,
          uuid: data.UUID || undefined,
        },
        cpu,
        memoryMb,
        cards,
        disks,
        unknown,
      };
    },
  };
}
