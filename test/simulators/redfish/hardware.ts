import { collection, enabled } from '#test/simulators/redfish/service-resources.ts';

/** Processors, memory and network cards of a system (DMTF Processor, Memory, EthernetInterface). */

const systemPath = '/redfish/v1/Systems/1';
const processorsPath = `${systemPath}/Processors`;
const memoryPath = `${systemPath}/Memory`;
const cardsPath = `${systemPath}/EthernetInterfaces`;

type Resource = Record<string, unknown>;

/** Composes the system's own words on them, and its links. */
export function hardwareLinks(): Resource {
  return {
    ProcessorSummary: { Count: 1, LogicalProcessorCount: 8, Model: 'Simulated', Status: enabled },
    MemorySummary: { TotalSystemMemoryGiB: 16, Status: enabled },
    Processors: { '@odata.id': processorsPath },
    Memory: { '@odata.id': memoryPath },
    EthernetInterfaces: { '@odata.id': cardsPath },
  };
}

/** The resources, by path. @param macs addresses of the machine's network cards */
export function hardwareResources(macs: readonly string[]): Record<string, Resource> {
  const cards = macs.map((mac, index): [string, Resource] => [
    `${cardsPath}/NIC.${index + 1}`,
    {
      '@odata.type': '#EthernetInterface.v1_8_0.EthernetInterface',
      Id: `NIC.${index + 1}`,
      Name: `Ethernet ${index + 1}`,
      MACAddress: mac.toUpperCase(),
      PermanentMACAddress: mac.toUpperCase(),
      SpeedMbps: 10_000,
      LinkStatus: index === 0 ? 'LinkUp' : 'LinkDown',
      InterfaceEnabled: true,
      Status: enabled,
    },
  ]);
  return {
    [processorsPath]: collection('ProcessorCollection', 'Processors', [`${processorsPath}/CPU.1`]),
    [`${processorsPath}/CPU.1`]: {
      '@odata.type': '#Processor.v1_9_0.Processor',
      Id: 'CPU.1',
      Name: 'Processor 1',
      Socket: 'CPU 1',
      ProcessorType: 'CPU',
      ProcessorArchitecture: 'x86',
      InstructionSet: 'x86-64',
      Manufacturer: 'Simulated',
      Model: 'Simulated',
      MaxSpeedMHz: 3200,
      TotalCores: 4,
      TotalThreads: 8,
      Status: enabled,
    },
    [memoryPath]: collection(
      'MemoryCollection',
      'Memory',
      ['DIMM.A1', 'DIMM.A2'].map((id) => `${memoryPath}/${id}`),
    ),
    ...Object.fromEntries(
      ['DIMM.A1', 'DIMM.A2'].map((id) => [
        `${memoryPath}/${id}`,
        {
          '@odata.type': '#Memory.v1_9_0.Memory',
          Id: id,
          Name: id,
          CapacityMiB: 8192,
          MemoryDeviceType: 'DDR4',
          OperatingSpeedMhz: 3200,
          Status: enabled,
        },
      ]),
    ),
    [cardsPath]: collection(
      'EthernetInterfaceCollection',
      'Ethernet interfaces',
      cards.map(([path]) => path),
    ),
    ...Object.fromEntries(cards),
  };
}
