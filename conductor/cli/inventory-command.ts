import { readOfNode } from '#conductor/cli/api-client.ts';
import { type Command, pathOperand, requiredOption } from '#conductor/cli/command.ts';
import { onNodes } from '#conductor/cli/on-nodes.ts';
import { print } from '#conductor/cli/print.ts';
import { printable } from '#conductor/cli/screen.ts';

/** What distinguishes two machines that were bought as the same, or changes from boot to boot. */
const ownKeys =
  /serial|mac|uuid|wwn|address|hctl|by_path|lldp|hostname|contents|^(name|label|id|frequency|total|pxe_interface|time|asset_tag|boot|carrier|has_carrier|locator|slot|bus|smart|temperature|hours|power_on_hours)$/i;

/** What an inventory has of what machines are bought by, as lines that two machines of a kind share. Pure. */
function hardwareLines(inventory: unknown, place = ''): string[] {
  if (Array.isArray(inventory)) return inventory.map((each) => `${place}: ${describe(each)}`).sort();
  if (typeof inventory !== 'object' || inventory === null) return [`${place}: ${describe(inventory)}`];
  return Object.entries(inventory)
    .filter(([key, value]) => !ownKeys.test(key) && value !== null && value !== '')
    .sort(([a], [b]) => Number(a > b) - Number(a < b))
    .flatMap(([key, value]) => hardwareLines(value, place === '' ? key : `${place}.${key}`));
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return value.map(describe).sort().join(' ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .filter(([key, inner]) => !ownKeys.test(key) && inner !== null && inner !== '')
    .sort(([a], [b]) => Number(a > b) - Number(a < b))
    .map(([key, inner]) => `${key}=${describe(inner)}`)
    .join(' ');
}

/** Lines that only one of them has, as often as it has them more: `−` the reference, `+` the other. Pure. */
function compareHardware(reference: readonly string[], other: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of reference) counts.set(line, (counts.get(line) ?? 0) - 1);
  for (const line of other) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .sort(([a], [b]) => Number(a > b) - Number(a < b))
    .map(([line, count]) => `${count < 0 ? '−' : '+'}${Math.abs(count) > 1 ? ` ${Math.abs(count)} ×` : ''} ${line}`);
}

export const inventoryDiffCommand: Command = onNodes(
  {
    words: 'inventory diff',
    operands: ['NODE'],
    options: {
      reference: {
        value: 'NODE',
        required: 'with which machine they are compared must be said',
        meaning: 'the reference node',
      },
    },
    meaning: 'how the hardware of nodes, as inspected last, differs from that of a reference node',
    details:
      'Disks, network cards, memory, processors, firmware. Serial numbers, addresses and names do not count.\n' +
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
