import { type BroughtNode, bringFleet } from '#conductor/cli/import/bring-fleet.ts';
import type { Fleet } from '#conductor/cli/import/fleet.ts';
import { hideSecretsOf } from '#conductor/cli/import/hide-secrets.ts';
import { connectIronic } from '#conductor/cli/import/ironic-client.ts';
import { readSecretsDatabase, readSecretsFile } from '#conductor/cli/import/ironic-secrets.ts';
import { prepareFleet, readDrivers } from '#conductor/cli/import/prepare-fleet.ts';
import { csvColumns, readCsv } from '#conductor/cli/import/read-csv.ts';
import { readIronic } from '#conductor/cli/import/read-ironic.ts';
import { readMaas } from '#conductor/cli/import/read-maas.ts';
import { readManifests } from '#conductor/cli/import/read-manifests.ts';
import { readMetal3 } from '#conductor/cli/import/read-metal3.ts';
import { readTinkerbell } from '#conductor/cli/import/read-tinkerbell.ts';
import { readMachinesHere, refuseConflicts } from '#conductor/cli/import/refuse-conflicts.ts';
import { renderFleet } from '#conductor/cli/import/render-fleet.ts';
import { takeBack } from '#conductor/cli/import/take-back.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  listOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { print } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Options of every source. */
const options: Readonly<Record<string, CommandOption>> = {
  yes: { meaning: 'do it; without it a table says what would come, and what would not' },
  back: { meaning: 'take these nodes out of Baton again; their machines are left alone' },
  class: { value: 'CLASS', meaning: 'resource class of nodes that have none' },
  'verify-ca': { meaning: 'verify certificates of BMCs also where the source does not' },
  adopt: { value: 'NODE', repeats: true, meaning: 'a node that runs an instance, though the source does not say so' },
};
const details =
  'The source is only read. Nodes that it calls deployed are adopted: their power is read, and no machine is switched,\n' +
  'rebooted or erased. Others come to manageable; baton provide cleans their disks. A run may be repeated: it adds what\n' +
  'is missing, and names what differs. Take the other system off these nodes before (maintenance, paused).';

/** Shows a fleet, brings it in, or takes it out again, as the options say. */
async function bringIn(context: CommandContext, input: CommandInput, read: Fleet): Promise<void> {
  const isDryRun = !flagOption(input, 'yes');
  if (flagOption(input, 'back')) {
    await goBack(context, input, read, isDryRun);
    return;
  }
  const adopt = listOption(input, 'adopt');
  const strange = adopt.filter((name) => read.nodes.every((node) => node.name !== name));
  if (strange.length > 0) throw usageError(`--adopt: ${read.source} has no node ${strange.join(', ')}`);
  const drivers = await readDrivers(context.client);
  const verifyCa = flagOption(input, 'verify-ca');
  const fitting = prepareFleet(read, drivers, { adopt, verifyCa, resourceClass: textOption(input, 'class') });
  const fleet = refuseConflicts(fitting, await readMachinesHere(context.client));
  if (isDryRun) {
    const text = `${renderFleet(fleet)}nothing was changed: --yes brings them in\n`;
    print(context, input, { json: hideSecretsOf(fleet), text });
    return;
  }
  const onResult = (node: BroughtNode): void => {
    if (input.document === undefined) context.screen.write(`${describeBrought(node)}\n`);
  };
  const results = await bringFleet(fleet, { client: context.client, clock: context.clock, onResult });
  if (input.document !== undefined) print(context, input, { json: results, text: '' });
  const bad = results.filter(({ outcome }) => outcome === 'failed' || outcome === 'differs');
  const refused = fleet.nodes.filter(({ refused: why }) => why !== undefined);
  if (bad.length + refused.length === 0) return;
  const names = [...bad.map(({ name }) => name), ...refused.map(({ name, refused: why }) => `${name} (${why})`)];
  throw new AppError(
    'command_failed',
    `${names.length} of ${fleet.nodes.length} nodes are not as ${fleet.source} has them: ${names.join(', ')}`,
  );
}

async function runImportIronic(context: CommandContext, input: CommandInput): Promise<void> {
  const [url = ''] = input.operands;
  const database = textOption(input, 'database');
  const file = textOption(input, 'secrets');
  if (database !== undefined && file !== undefined) throw usageError('--secrets and --database: one of them must go');
  const client = await connectIronic(url, await readAuthorization(input));
  const secrets =
    database !== undefined
      ? await readSecretsDatabase(database.startsWith('@') ? await readLine('--database', database.slice(1)) : database)
      : file === undefined
        ? new Map<string, never>()
        : await readSecretsFile(file);
  await bringIn(context, input, await readIronic(client, 'Ironic', secrets));
}

async function readAuthorization(input: CommandInput): Promise<Record<string, string>> {
  const token = textOption(input, 'token-file');
  const user = textOption(input, 'user');
  if (token !== undefined && user !== undefined) throw usageError('--token-file and --user: one of them must go');
  if (token !== undefined) return { 'X-Auth-Token': await readLine('--token-file', token) };
  if (user === undefined) return {};
  const password = await readLine('--password-file', textOption(input, 'password-file') ?? '');
  return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

async function readLine(option: string, file: string): Promise<string> {
  return (await readInputFile(option, file)).trim();
}

async function goBack(context: CommandContext, input: CommandInput, fleet: Fleet, isDryRun: boolean): Promise<void> {
  const taken = await takeBack(fleet, { client: context.client, isDryRun });
  const failed = taken.filter(({ error }) => error !== undefined);
  const done = taken
    .filter(({ error }) => error === undefined)
    .map(({ name, state }) => `${name}${isDryRun ? ` (${state})` : ''}\n`);
  const head = isDryRun
    ? 'would be taken out of Baton; --yes does it:\n'
    : 'taken out of Baton, their machines left alone:\n';
  print(context, input, { json: taken, text: `${head}${done.join('')}` });
  if (failed.length === 0) return;
  const lines = failed.map(({ name, state, error }) => `  ${name} (${state}): ${error}`);
  throw new AppError('command_failed', `${failed.length} of ${taken.length} are still there:\n${lines.join('\n')}`);
}

function describeBrought({ name, outcome, state, details: lines }: BroughtNode): string {
  const place = state === null ? '' : `, ${state}`;
  return `${name}: ${outcome}${place}${lines.length > 0 ? `: ${lines.join(', ')}` : ''}`;
}

export const importCommands: readonly Command[] = [
  {
    words: 'import csv',
    operands: ['FILE'],
    options,
    meaning: 'bring in the machines of a table, whose first row names the columns',
    details,
    helpTables: () => Promise.resolve([{ title: 'Columns', rows: Object.entries(csvColumns) }]),
    run: async (context, input) => {
      const [file = ''] = input.operands;
      await bringIn(context, input, readCsv(await readInputFile('FILE', file), file));
    },
  },
  {
    words: 'import metal3',
    operands: ['FILE...'],
    options,
    meaning: 'bring in BareMetalHosts, from YAML with them and the Secrets of their BMCs',
    details: `kubectl get bmh,hardwaredata,secret -A -o yaml writes such a file.\n${details}`,
    run: async (context, input) => bringIn(context, input, readMetal3(await readManifests(input.operands))),
  },
  {
    words: 'import maas',
    operands: ['FILE'],
    options: { ...options, power: { value: 'FILE', meaning: 'maas PROFILE machines power-parameters > FILE' } },
    meaning: 'bring in the machines of MAAS, from what `maas PROFILE machines read` prints',
    details: `Their BMCs' logins stand in another list: --power.\n${details}`,
    run: async (context, input) => {
      const power = textOption(input, 'power');
      const machines = await readInputFile('FILE', input.operands[0] ?? '');
      await bringIn(context, input, readMaas(machines, power && (await readInputFile('--power', power))));
    },
  },
  {
    words: 'import tinkerbell',
    operands: ['FILE...'],
    options,
    meaning: 'bring in Hardware of Tinkerbell, from YAML with it, the Machines of its BMCs and their Secrets',
    details:
      'kubectl get hardware,machines.bmc.tinkerbell.org,secret -A -o yaml writes such a file. It does not say which\n' +
      `machines run a system of their own: --adopt does.\n${details}`,
    run: async (context, input) => bringIn(context, input, readTinkerbell(await readManifests(input.operands))),
  },
  {
    words: 'import ironic',
    operands: ['URL'],
    options: {
      ...options,
      'token-file': { value: 'FILE', meaning: "a token of Keystone's (openstack token issue -f value -c id)" },
      user: { value: 'NAME', goesWith: 'password-file', meaning: 'user of an Ironic with http_basic' },
      'password-file': { value: 'FILE', goesWith: 'user', meaning: "that user's password" },
      secrets: { value: 'FILE', meaning: 'what the API masks: {NODE: {redfish_password: …}}, JSON or YAML' },
      database: { value: 'URL|@FILE', meaning: "Ironic's database, which has what the API masks; only read" },
    },
    meaning: 'bring in the nodes, ports, templates and allocations of an Ironic',
    details: `Ironic's API never gives passwords of BMCs: give --secrets, or --database as ironic.conf has it.\n${details}`,
    run: runImportIronic,
  },
];
