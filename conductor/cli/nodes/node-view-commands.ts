import { writeFile } from 'node:fs/promises';
import type { HistoryEntryAnswer } from '#conductor/api/node-parts.ts';
import { type Json, readOfNode, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  numberOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { formatBytes } from '#conductor/cli/shell/format-units.ts';
import { onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { columnsOf, print, table } from '#conductor/cli/shell/print.ts';
import { recordCommand } from '#conductor/cli/shell/record-command.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { shownTime } from '#conductor/cli/shell/shown-time.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { compareTexts } from '#shared/compare-texts.ts';

interface NodeList {
  readonly words: string;
  /** The list that is read below the node, and its key in the answer. */
  readonly key: string;
  readonly fields: readonly string[];
  readonly titles?: readonly string[];
  readonly meaning: string;
  readonly details?: string;
}

function listOfNode({ key, fields, titles, ...command }: NodeList): Command {
  const run: Command['run'] = async ({ client, ...context }, input) => {
    const answer = await readOfNode<Readonly<Record<string, readonly Json[]>>>(client, pathOperand(input), `/${key}`);
    const entries = answer[key] ?? [];
    const shown = entries.map((entry) =>
      typeof entry['at'] === 'string' ? { ...entry, at: shownTime(context.screen, entry['at']) } : entry,
    );
    print(context, input, { json: entries, text: columnsOf(shown, fields, titles) });
  };
  return onNodes({ ...command, operands: ['NODE'], run }, { reads: true });
}

export const hardwareCommands: readonly Command[] = [
  listOfNode({
    words: 'sensors',
    key: 'sensors',
    fields: ['name', 'value', 'unit', 'health'],
    meaning: "current readings of the machine's sensors, from its BMC",
  }),
  listOfNode({
    words: 'sel',
    key: 'event_log',
    fields: ['at', 'severity', 'message'],
    meaning: "the newest entries of the BMC's system event log",
  }),
];

export const firmwareCommand: Command = listOfNode({
  words: 'firmware',
  key: 'firmware',
  fields: [
    'component',
    'current_version',
    'initial_version',
    'last_version_flashed',
    'vendor',
    'model',
    'serial_number',
  ],
  titles: ['component', 'version', 'at first', 'updated to', 'vendor', 'model', 'serial number'],
  meaning: "versions of a node's firmware as last read, and what an update has written",
  details: 'Update it with the step firmware.update, which takes components by these names (docs/hardware.md).',
});

interface History {
  readonly history: readonly HistoryEntryAnswer[];
}

export const historyCommand: Command = {
  words: 'history',
  operands: ['NODE'],
  options: {
    limit: { value: 'COUNT', meaning: 'only the newest of them' },
    severity: { value: 'INFO|ERROR', meaning: 'only these' },
    requests: { meaning: 'with the id of the request that each comes of, and the one that its client had sent' },
  },
  meaning: 'what happened to a node, and who asked for it; the newest last',
  run: async (context, input) => {
    const withIds = flagOption(input, 'requests');
    const { history } = await readOfNode<History>(
      context.client,
      pathOperand(input),
      `/history?detail=true${withIds ? '&request_ids=true' : ''}`,
    );
    const severity = textOption(input, 'severity')?.toUpperCase();
    const all = history.filter((entry) => severity === undefined || entry.severity === severity);
    const entries = all.slice(-(numberOption(input, 'limit') ?? all.length));
    const rows = entries.map((entry) => [
      shownTime(context.screen, entry.created_at),
      entry.severity,
      entry.user || '-',
      // the chain of causes may have lines of its own
      entry.event.replaceAll('\n', ' '),
      ...(withIds ? [entry.request_id ?? '-', entry.global_request_id ?? '-'] : []),
    ]);
    const titles = ['time', 'severity', 'who', 'event', ...(withIds ? ['request', 'of'] : [])];
    print(context, input, { json: entries, text: table([titles, ...rows]) });
  },
};

async function logs(context: CommandContext, input: CommandInput): Promise<void> {
  const path = withQuery(`/v1/nodes/${pathOperand(input)}/flow/logs`, { flow: textOption(input, 'flow') });
  const { content, fileName } = await context.client.download(path);
  const asked =
    input.document !== undefined || textOption(input, 'output') === 'text' ? undefined : textOption(input, 'output');
  const toPipe = asked === '-' || (asked === undefined && input.document === undefined && !context.screen.isTerminal);
  if (toPipe) {
    context.screen.write(content);
    return;
  }
  const file = asked ?? fileName;
  await writeFile(file, content).catch((cause: unknown) => {
    throw usageError(`-o: write ${file}`, { cause });
  });
  print(context, input, {
    json: { file, bytes: content.length },
    text: `${file}: ${formatBytes(content.length)}; tar -xzf unpacks it\n`,
  });
}

export const logCommands: readonly Command[] = [
  recordCommand({
    words: 'node record',
    operand: 'NODE',
    path: '/v1/nodes',
    meaning: "record a node's last inventory and its BMC's answers, to be sent when they are read wrongly",
    details:
      'The inventory is as the ramdisk sent it, LLDP and disks in it, with the texts of lsblk, udevadm and dmidecode that ' +
      'the last inspection brought. Of the BMC the redfish and idrac drivers record the ' +
      'tree of resources (250 at most, without logs and accounts), ipmi the outputs of ipmitool; other drivers nothing. ',
  }),
  {
    words: 'logs',
    operands: ['NODE'],
    options: {
      output: { value: 'FILE', short: 'o', meaning: 'where to write it; - = standard output; json as everywhere' },
      flow: { value: 'UUID', meaning: 'of this flow; default: the newest' },
    },
    meaning: "the agent's logs of a flow that failed, a gzipped tar",
    details: 'Without -o: a file here, named by node and time; into a pipe, the tar itself.',
    run: logs,
  },
];

/**
 * Keys that distinguish two machines which were bought as the same, change from boot to boot, or stand there twice
 * (accelerators are PCI devices).
 */
const ownKeys =
  /serial|mac|uuid|wwn|address|hctl|by_path|lldp|hostname|contents|health|accelerators|^(name|label|id|frequency|total|pxe_interface|time|asset_tag|boot|carrier|has_carrier|slot|bus)$/i;

/** Lists what an inventory has of what machines are bought by, as lines that two machines of a kind share. Pure. */
function hardwareLines(inventory: unknown, place = ''): string[] {
  if (Array.isArray(inventory)) return inventory.map((each) => `${place}: ${describe(each)}`).sort();
  if (typeof inventory !== 'object' || inventory === null) return [`${place}: ${describe(inventory)}`];
  return Object.entries(inventory)
    .filter(([key, value]) => !ownKeys.test(key) && value !== null && value !== '')
    .sort(([a], [b]) => compareTexts(a, b))
    .flatMap(([key, value]) => hardwareLines(value, [place, spell(key)].filter((part) => part !== '').join('.')));
}

const spell = (key: string): string => key.replace(/^baton_/, '');

function describe(value: unknown): string {
  if (Array.isArray(value)) return value.map(describe).sort().join(' ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .filter(([key, inner]) => !ownKeys.test(key) && inner !== null && inner !== '')
    .sort(([a], [b]) => compareTexts(a, b))
    .map(([key, inner]) => `${spell(key)}=${describe(inner)}`)
    .join(' ');
}

/** Lines that only one of them has, as often as it has them more: `−` the reference, `+` the other. Pure. */
function compareHardware(reference: readonly string[], other: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of reference) counts.set(line, (counts.get(line) ?? 0) - 1);
  for (const line of other) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .sort(([a], [b]) => compareTexts(a, b))
    .map(([line, count]) => `${count < 0 ? '−' : '+'}${Math.abs(count) > 1 ? ` ${Math.abs(count)} ×` : ''} ${line}`);
}

export const inventoryDiffCommand: Command = onNodes(
  {
    words: 'inventory diff',
    operands: ['NODE'],
    options: {
      reference: {
        value: 'NODE',
        required: 'the node to compare with, besides NODE... (or --class and the like), those that are compared',
        meaning: 'the reference node',
      },
    },
    meaning: 'how the hardware of nodes, as inspected last, differs from that of a reference node',
    details:
      'Disks, memory modules, PCI cards, processors, boards, firmware. Serial numbers, addresses, names and health do not count.\n' +
      '− is what the reference has more of, + the node.',
    run: async (context, input) => {
      const read = async (ident: string) => (await readOfNode(context.client, ident, '/inventory'))['inventory'];
      const ident = pathOperand(input);
      const reference = encodeURIComponent(requiredOption(input, 'reference'));
      const [expected, found] = await Promise.all([read(reference), read(ident)]);
      const differences = compareHardware(hardwareLines(expected), hardwareLines(found));
      const name = decodeURIComponent(ident);
      const lines =
        differences.length === 0
          ? [`node ${name}: as ${decodeURIComponent(reference)}`]
          : [`node ${name}:`, ...differences.map((line) => `  ${line}`)];
      const text = lines.map((line) => `${printable(line)}\n`).join('');
      print(context, input, { json: { node: name, differences }, text });
    },
  },
  { reads: true },
);
