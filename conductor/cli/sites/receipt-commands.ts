import type { ReceiptAnswer, ReceiptKeyAnswer } from '#conductor/api/records.ts';
import { callFor, readList, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  numberOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { formatBytes } from '#conductor/cli/shell/format-units.ts';
import { readInputFile, writeNewFile } from '#conductor/cli/shell/input-files.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { isJsonObject } from '#conductor/model/json-object.ts';
import { keyFile, readPublicKeys } from '#conductor/model/receipts/envelope.ts';
import type { WipeReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Disk = Omit<WipeReceipt['disks_not_seen'][number], 'excuse'>;
type SwitchPort = WipeReceipt['switch_ports'][number];

/** A receipt as people read it. Pure. */
function receiptLines(receipt: WipeReceipt): string[] {
  const { node, times, flows, disks_wiped: wiped, disks_left_alone: left, disks_not_seen: unseen } = receipt;
  const machine = [node.vendor, node.model, node.serial_number === null ? null : `serial ${node.serial_number}`];
  const asked = receipt.preserve_local_storage
    ? 'the disk with the operating system; the others were to stay'
    : 'all disks';
  return [
    `receipt ${receipt.id} of conductor ${receipt.conductor.name}`,
    `node ${node.name ?? ''} ${node.uuid}: ${machine.filter((part) => part !== null).join(' ') || 'a machine without an inventory'}`,
    ...(node.inventory_at === null ? [] : [`  as its ramdisk has read it on ${node.inventory_at}`]),
    ...(node.macs.length === 0 ? [] : [`  MACs ${node.macs.join(', ')}`]),
    `asked to wipe ${asked}${receipt.requested_by === null ? '' : `, by ${receipt.requested_by}`}`,
    `begun ${times.started}, wiped ${times.wiped}, signed ${times.signed}`,
    `flow ${flows.wipe}${flows.teardown === null ? '' : `, after the teardown ${flows.teardown}`}`,
    ...(receipt.site_action === null ? [] : [`site action ${receipt.site_action}`]),
    wiped.length === 0 ? 'NO DISK WAS WIPED' : `wiped: ${wiped.length}`,
    ...wiped.map((disk) => `  ${identify(disk)}: ${disk.method}, ${disk.seconds} s; ${proofText(disk.proof)}`),
    ...(left.length === 0 ? [] : [`left alone: ${left.length}`]),
    ...left.map((disk) => `  ${identify(disk)}: ${disk.reason}${entryText(disk)}`),
    ...(unseen.length === 0 ? [] : [`in the inventory, but not met by the wipe: ${unseen.length}`]),
    ...unseen.map((disk) => `  ${identify(disk)}${disk.excuse === null ? '' : `: ${disk.excuse}`}`),
    ...receipt.warnings.map((warning) => `WARNING: ${warning}`),
    ...receipt.switch_ports.map(switchPortText),
    ...agentLines(receipt),
    ...(receipt.scope === '' ? [] : [`what this is about: ${receipt.scope}`]),
  ].map(printable);
}

function entryText({ skip_list_entry: entry }: WipeReceipt['disks_left_alone'][number]): string {
  return entry === null ? '' : ` (${JSON.stringify(entry)})`;
}

function agentLines({ agent }: WipeReceipt): string[] {
  if (agent === null) return [];
  const managers = Object.entries(agent.hardware_managers).map(([name, version]) => `${name} ${version}`);
  return [`wiped by the agent ${[agent.version ?? 'of an unknown version', ...managers].join(', ')}`];
}

function identify({ device, model, serial, wwn, size_bytes: size }: Disk): string {
  const shown = [
    model,
    serial === null ? null : `serial ${serial}`,
    wwn === null ? null : `wwn ${wwn}`,
    size === null ? null : formatBytes(size),
  ].filter((part) => part !== null);
  return `${device}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`;
}

function proofText({ canaries, samples, reads }: WipeReceipt['disks_wiped'][number]['proof']): string {
  const as = reads === 'changed' ? 'something else than before' : reads;
  return `read back: ${canaries} canaries gone, ${samples} samples, all read as ${as}`;
}

function switchPortText({ mac, switch_id: id, port_id: port, switch_info: info, ...rest }: SwitchPort): string {
  const where = id === null && port === null ? 'no switch port known' : `${info ?? id ?? 'switch'} port ${port ?? '?'}`;
  const vlan = rest.vlan === null ? '' : ` (VLAN ${rest.vlan})`;
  const on = rest.state === 'on a network' ? `on network ${rest.network}${vlan}` : rest.state;
  const at = rest.read_back_at === null ? '' : `, read back ${rest.read_back_at}`;
  return `switch port of ${mac}: ${where}: ${on}${at}`;
}

const receiptsPath = '/api/v1.0/receipts';
const keysPath = '/api/v1.0/receipt-keys';

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const [node, flow, marker] = ['node', 'flow', 'marker'].map((name) => textOption(input, name));
  const path = withQuery(receiptsPath, { node, flow, marker, limit: numberOption(input, 'limit') });
  const page = await callFor<{ readonly receipts: readonly ReceiptAnswer[]; readonly next?: string }>(
    context.client,
    'GET',
    path,
  );
  const rows = page?.receipts ?? [];
  const cells = rows.map((row) => [
    row.id,
    row.node_name ?? row.node_uuid,
    cell(row.serial_number),
    String(row.disks_wiped),
    String(row.disks_left_alone),
    row.signed_at.slice(0, 19),
    row.key.slice(0, 12),
  ]);
  const head = ['id', 'node', 'serial', 'wiped', 'left alone', 'signed', 'key'];
  const more = page?.next === undefined ? '' : `more: --marker ${rows.at(-1)?.id}\n`;
  print(context, input, { json: rows, text: table([head, ...cells]) + more });
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const { content } = await context.client.download(`${receiptsPath}/${pathOperand(input)}`).catch(adviseList(input));
  const text = new TextDecoder().decode(content);
  const out = textOption(input, 'out');
  if (out === '-') {
    context.screen.write(text);
    return;
  }
  const envelope: unknown = JSON.parse(text);
  if (out !== undefined) {
    await writeNewFile('--out', out, text);
    print(context, input, { json: { file: out }, text: `${out}: baton receipt verify ${out} --key KEYFILE\n` });
    return;
  }
  const { parseReceipt } = await import('#conductor/model/receipts/verify-receipt.ts');
  const receipt = parseReceipt(
    Buffer.from(String(isJsonObject(envelope) ? envelope['payload'] : ''), 'base64').toString('utf8'),
  );
  const remark = 'as the conductor shows it; --out FILE and baton receipt verify prove it';
  print(context, input, { json: envelope, text: `${[...receiptLines(receipt), remark].join('\n')}\n` });
}

/** A node's name in place of a receipt's gets advice on how to find the receipt. */
function adviseList({ operands: [wanted = ''] }: CommandInput): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    const { code, message, details } = error;
    throw new AppError(code, `${message}\n→ baton receipt list --node ${wanted}`, { details });
  };
}

/** @throws AppError `invalid_argument` when several begin so */
function keysBeginning(keys: readonly ReceiptKeyAnswer[], wanted: string): ReceiptKeyAnswer | undefined {
  const found = keys.filter(({ fingerprint }) => fingerprint.startsWith(wanted.toLowerCase()));
  if (found.length < 2) return found[0];
  const names = found.map(({ fingerprint }) => fingerprint).join(', ');
  throw new AppError('invalid_argument', `${found.length} receipt keys begin with ${wanted}: ${names}`);
}

async function key(context: CommandContext, input: CommandInput): Promise<void> {
  const keys = await readList<ReceiptKeyAnswer>(context.client, keysPath, 'keys');
  const [wanted] = input.operands;
  const chosen =
    wanted === undefined ? keys.find(({ retired_at: retired }) => retired === null) : keysBeginning(keys, wanted);
  if (!chosen) {
    const none = 'there is no key yet: the first wipe makes it, or baton receipt rotate-key';
    throw new AppError('not_found', wanted === undefined ? none : `there is no receipt key ${wanted}`);
  }
  const out = textOption(input, 'out');
  if (out === undefined || out === '-') {
    print(context, input, { json: wanted === undefined ? keys : chosen, text: keyFile(chosen) });
    return;
  }
  await writeNewFile('--out', out, keyFile(chosen));
  print(context, input, { json: { ...chosen, file: out }, text: `${out}: key ${chosen.fingerprint}\n` });
}

async function rotate(context: CommandContext, input: CommandInput): Promise<void> {
  const made = (await context.client.call('POST', keysPath)) ?? {};
  const text = `receipts are signed by key ${cell(made['fingerprint'])} from now on; keep the old public key for old receipts\n`;
  print(context, input, { json: made, text });
}

async function verify(context: CommandContext, input: CommandInput): Promise<void> {
  const [file = ''] = input.operands;
  const keyFile = requiredOption(input, 'key');
  const keys = readPublicKeys(await readInputFile('--key', keyFile), keyFile);
  const text = await readInputFile('receipt verify', file);
  const { verifyReceipt } = await import('#conductor/model/receipts/verify-receipt.ts');
  const { receipt, fingerprint } = verified(file, () => verifyReceipt(text, keys));
  const lines = [`${file}: the signature is right, by key ${fingerprint}`, ...receiptLines(receipt)];
  print(context, input, { json: { verified: true, key: fingerprint, receipt }, text: `${lines.join('\n')}\n` });
}

function verified<T>(file: string, check: () => T): T {
  try {
    return check();
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new AppError(cause.code, `${file} is NOT verified`, { cause });
  }
}

export const receiptCommands: readonly Command[] = [
  {
    words: 'receipt list',
    options: {
      node: { value: 'NODE', meaning: 'only of this node, which may be gone; UUID, or a name that it has or had' },
      flow: { value: 'UUID', meaning: 'only of this flow' },
      limit: { value: 'N', meaning: 'at most this many' },
      marker: { value: 'ID', meaning: 'those before this one' },
    },
    meaning: 'receipts of wiped nodes, the newest first',
    run: list,
  },
  {
    words: 'receipt show',
    operands: ['RECEIPT'],
    options: { out: { value: 'FILE', meaning: 'a new file for the signed receipt; - = standard output' } },
    meaning: 'what a receipt says, or the signed file itself',
    run: show,
  },
  {
    words: 'receipt key',
    operands: ['[FINGERPRINT]'],
    options: { out: { value: 'FILE', meaning: 'a new file for it; default: standard output' } },
    meaning: 'the public key that receipts are signed with, or an older one, as PEM',
    details:
      'FINGERPRINT may be its beginning, as baton receipt list has it. With -o json all keys there have ever been.',
    run: key,
  },
  {
    words: 'receipt rotate-key',
    meaning: 'sign with a new key from now on; the private half of the old one is destroyed',
    run: rotate,
  },
  {
    words: 'receipt verify',
    operands: ['FILE'],
    options: {
      key: {
        value: 'KEYFILE',
        required:
          "a receipt can't vouch for itself: a forger has signed it too; baton receipt key --out KEYFILE " +
          'gets it from the conductor',
        meaning: 'the public key, or several, as PEM',
      },
    },
    meaning: 'prove a receipt, without a conductor',
    details:
      'It ends with 0 only when one of the keys has signed exactly this file. Get the key by a way that you trust, and\n' +
      'not with the receipt.',
    offline: true,
    run: verify,
  },
];
