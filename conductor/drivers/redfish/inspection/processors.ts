import { z } from 'zod';
import { type ComputerSystem, orUndefined, Status } from '#conductor/drivers/redfish/client/schemas.ts';
import { type Ask, readPartsOf, sameOf, sumOf } from '#conductor/drivers/redfish/inspection/part.ts';
import type { ShownCpu } from '#conductor/drivers/shown-machine.ts';

const Processor = z.looseObject({
  ProcessorType: orUndefined(z.string()),
  ProcessorArchitecture: orUndefined(z.string()),
  InstructionSet: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  MaxSpeedMHz: orUndefined(z.number()),
  TotalThreads: orUndefined(z.number()),
  Status: orUndefined(Status),
});
type Processor = z.infer<typeof Processor>;

/** DMTF's `InstructionSet`, in lower case, as the kernel calls the architecture. */
const instructionSets: Readonly<Record<string, string>> = {
  'x86-64': 'x86_64',
  'arm-a64': 'aarch64',
};

/** Reads the processors, GPUs and other helpers aside. */
export async function readCpu(ask: Ask, system: ComputerSystem): Promise<ShownCpu | undefined> {
  const place = system.Processors?.['@odata.id'];
  const found = place === undefined ? [] : await readPartsOf(ask, place, Processor);
  const processors = found
    .map(({ data }) => data)
    .filter(
      ({ ProcessorType: type, Status: status }) => (type == null || type === 'CPU') && status?.State !== 'Absent',
    );
  const { LogicalProcessorCount: logical, Count: sockets, Model: model } = system.ProcessorSummary ?? {};
  const isWhole = processors.length > 0 && ask.unread.length === 0;
  const count =
    logical || (isWhole ? sumOf(processors.map(({ TotalThreads: threads }) => threads || undefined)) : undefined);
  const architecture = sameOf(processors.map(architectureOf));
  if (count === undefined) ask.missing.push('the BMC shows no number of processors');
  if (architecture === undefined) ask.missing.push('the BMC shows no architecture of the processors');
  return {
    architecture,
    count,
    sockets: isWhole ? processors.length : sockets || undefined,
    model: sameOf(processors.map(({ Model: each }) => each || undefined)) || model || undefined,
    maxMhz: Number(sameOf(processors.map(({ MaxSpeedMHz: each }) => each?.toString()))) || undefined,
  };
}

function architectureOf({ InstructionSet: set, ProcessorArchitecture: family }: Processor): string | undefined {
  // BMCs that leave the set out have 64 bits since long
  return set ? instructionSets[set.toLowerCase()] : family === 'x86' ? 'x86_64' : undefined;
}
