import type { ReceiptAnswer, ReceiptKeyAnswer } from '#conductor/api/records.ts';
import type { Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  numberOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/command.ts';
import { cell, print, table } from '#conductor/cli/print.ts';
import { readInputFile } from '#conductor/cli/read-input-file.ts';
import { receiptLines } from '#conductor/cli/receipt-text.ts';
import { writeNewFile } from '#conductor/cli/write-new-file.ts';
import { keyFile, readPublicKeys } from '#conductor/model/receipts/envelope.ts';
import { AppError } from '#shared/errors/app-error.ts';

const receiptsPath = '/api/v1.0/receipts';
const keysPath = '/api/v1.0/receipt-keys';

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const query = new URLSearchParams();
  for (const name of ['node', 'flow', 'marker']) {
    const value = textOption(input, name);
    if (value !== undefined) query.set(name, value);
  }
  const limit = numberOption(input, 'limit');
  if (limit !== undefined) query.set('limit', String(limit));
  const text = query.toString();
  const answer = await context.client.call('GET', `${receiptsPath}${text === '' ? '' : `?${text}`}`);
  const rows = (answer?.['receipts'] ?? []) as readonly ReceiptAnswer[];
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
  const more = answer?.['next'] === undefined ? '' : `more: --marker ${rows.at(-1)?.id}\n`;
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
  const envelope = JSON.parse(text) as Json;
  if (out !== undefined) {
    await writeNewFile('--out', out, text);
    print(context, input, { json: { file: out }, text: `${out}: baton receipt verify ${out} --key KEYFILE\n` });
    return;
  }
  const { parseReceipt } = await import('#conductor/model/receipts/verify-receipt.ts');
  const receipt = parseReceipt(Buffer.from(String(envelope['payload']), 'base64').toString('utf8'));
  const remark = 'as the conductor shows it; --out FILE and baton receipt verify prove it';
  print(context, input, { json: envelope, text: `${[...receiptLines(receipt), remark].join('\n')}\n` });
}

/** Who names a node in place of a receipt is told how to find it. */
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
  const keys = ((await context.client.call('GET', keysPath))?.['keys'] ?? []) as readonly ReceiptKeyAnswer[];
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
      limit: { value: 'N', meaning: 'only so many' },
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
