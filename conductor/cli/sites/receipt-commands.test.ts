import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '#conductor/cli/commands.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import type { ApiClient } from '#conductor/cli/shell/api-client.ts';
import { fingerprintOf, sealEnvelope } from '#conductor/model/receipts/envelope.ts';
import { composeReceipt } from '#conductor/receipts/compose-receipt.ts';
import { erasedDisk, receiptFacts } from '#conductor/receipts/testing/example-facts.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

const pair = generateKeyPairSync('ed25519');
const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const fingerprint = fingerprintOf(pair.publicKey);
const receipt = composeReceipt(
  receiptFacts({
    result: {
      erased: [erasedDisk('ZC1')],
      skipped: [
        { device: '/dev/sdb', serial: null, wwn: null, model: 'Fl\u001b[2Jash', reason: 'it is on the skip list' },
      ],
    },
  }),
);
const file = sealEnvelope(Buffer.from(JSON.stringify(receipt)), { fingerprint, privateKey: pair.privateKey });
let directory: string;
const path = (name: string): string => join(directory, name);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-receipts-'));
  await writeFile(path('receipt.json'), file);
  await writeFile(path('key.pem'), pem);
});
afterAll(() => rm(directory, { recursive: true }));

const keys = [
  {
    fingerprint: 'a'.repeat(64),
    public_key: 'OLD\n',
    created_at: '2026-01-01T00:00:00.000Z',
    retired_at: '2026-02-01T00:00:00.000Z',
  },
  { fingerprint, public_key: pem, created_at: '2026-02-01T00:00:00.000Z', retired_at: null },
];
const client: ApiClient = {
  call: (_, asked) => Promise.resolve(asked.endsWith('receipt-keys') ? { keys } : { receipts: [] }),
  download: () => Promise.resolve({ content: Buffer.from(file), fileName: 'receipt.json' }),
};

/** @param connect of one who verifies there is no conductor, and no setting need be right */
async function baton(args: readonly string[], connect = () => ({ client, openConsole: () => Promise.resolve() })) {
  let output = '';
  const screen = {
    write: (text: string | Uint8Array) => void (output += String(text)),
    isTerminal: false,
    size: () => ({ columns: 80, rows: 24 }),
  };
  await runCommand({ screen, describeSettings: () => Promise.resolve([]), clock: systemClock, connect }, args);
  return output;
}

const nobody = () => {
  throw new AppError('invalid_argument', 'BATON_TOKEN_FILE: it is not there');
};
const offline = (...args: string[]): Promise<string> => baton(args, nobody);

test('verify needs no conductor and no settings, and says what was wiped and how it was proved', async () => {
  const text = await offline('receipt', 'verify', path('receipt.json'), '--key', path('key.pem'));
  expect(text.split('\n')).toEqual([
    `${path('receipt.json')}: the signature is right, by key ${fingerprint}`,
    `receipt ${receipt.id} of conductor control-a`,
    `node n1 ${receipt.node.uuid}: Dell Inc. PowerEdge R650 serial CN7475`,
    '  as its ramdisk has read it on 2026-11-20T08:00:00.000Z',
    '  MACs 52:54:00:00:00:01',
    'asked to wipe all disks, by ops',
    'begun 2026-11-21T22:00:00.000Z, wiped 2026-11-21T22:40:00.000Z, signed 2026-11-21T22:41:01.000Z',
    `flow ${receipt.flows.wipe}, after the teardown ${receipt.flows.teardown}`,
    'site action 01JD8Z6V5W3R7N9K2M4P6Q8S0T',
    'wiped: 1',
    '  /dev/sda (ST4000, serial ZC1, wwn 0x5000c500ZC1, 4.0 TB): ata security erase, 26.4 s; ' +
      'read back: 66 canaries gone, 64 samples, all read as zeros',
    'left alone: 1',
    '  /dev/sdb (Fl\uFFFD[2Jash): it is on the skip list',
    'switch port of 52:54:00:00:00:01: leaf1 port Ethernet1/7: isolated, read back 2026-11-21T22:41:00.000Z',
    'wiped by the agent 1.4.0, GenericHardwareManager 1.2',
    expect.stringContaining('what this is about: The block devices that the ramdisk of this wipe saw') as unknown,
    '',
  ]);
  const json = JSON.parse(
    await offline('receipt', 'verify', path('receipt.json'), '--key', path('key.pem'), '-o', 'json'),
  ) as object;
  expect(json).toEqual({ verified: true, key: fingerprint, receipt });
});

test('verify fails for a changed receipt, and refuses to take a receipt’s own word', async () => {
  await writeFile(path('changed.json'), file.replace(/"payload":"(.{40})./, '"payload":"$1A'));
  const changed = offline('receipt', 'verify', path('changed.json'), '--key', path('key.pem')).catch(
    (error: unknown) => error,
  );
  expect(exitCodeOf(await changed)).toBe(1);
  expect(await changed).toMatchObject({
    message: `${path('changed.json')} is NOT verified`,
    cause: { message: expect.stringContaining('is wrong: the receipt or the signature was changed') as unknown },
  });
  for (const [args, message] of [
    [[path('receipt.json')], "a receipt can't vouch for itself"],
    [[path('none.json'), '--key', path('key.pem')], `read ${path('none.json')}`],
    [[path('receipt.json'), '--key', path('none.pem')], `--key: read ${path('none.pem')}`],
  ] as const) {
    const error = await offline('receipt', 'verify', ...args).catch((failure: unknown) => failure);
    expect([exitCodeOf(error), error]).toEqual([
      2,
      expect.objectContaining({ message: expect.stringContaining(message) as unknown }),
    ]);
  }
  const wrongKey = offline('receipt', 'verify', path('receipt.json'), '--key', path('receipt.json'));
  await expect(wrongKey).rejects.toThrow('it has no -----BEGIN PUBLIC KEY-----');
});

test('show and key write files that verify', async () => {
  expect(await baton(['receipt', 'show', receipt.id, '--out', path('out.json')])).toContain('baton receipt verify');
  expect(await readFile(path('out.json'), 'utf8')).toBe(file);
  expect(await baton(['receipt', 'show', receipt.id, '--out', '-'])).toBe(file);
  expect(await baton(['receipt', 'show', receipt.id])).toContain('prove it\n');
  expect(await baton(['receipt', 'key', '--out', path('out.pem')])).toBe(`${path('out.pem')}: key ${fingerprint}\n`);
  expect(await offline('receipt', 'verify', path('out.json'), '--key', path('out.pem'))).toContain(
    'the signature is right',
  );
  expect(await baton(['receipt', 'key'])).toBe(pem);
  expect(await baton(['receipt', 'key', 'a'.repeat(64)])).toBe('Retired: 2026-02-01T00:00:00.000Z\nOLD\n');
  expect(JSON.parse(await baton(['receipt', 'key', '-o', 'json']))).toEqual(keys);
  await expect(baton(['receipt', 'key', 'z'])).rejects.toThrow('there is no receipt key z');
});

test('a key is named by its beginning, where only one begins so', async () => {
  expect(await baton(['receipt', 'key', 'AAAA'])).toContain('OLD\n');
  // one of them is random
  const begins = keys.some(({ fingerprint }) => fingerprint.startsWith('ab')) ? 'ac' : 'ab';
  const twins = [...keys, { ...keys[0], fingerprint: `${begins}${'c'.repeat(62)}` }];
  const twinned = { ...client, call: () => Promise.resolve({ keys: twins }) };
  const connect = () => ({ client: twinned, openConsole: () => Promise.resolve() });
  await expect(baton(['receipt', 'key', 'a'], connect)).rejects.toThrow(/\d receipt keys begin with a: aaa/);
  expect(await baton(['receipt', 'key', begins], connect)).toContain('OLD\n');
});

test('--out writes over nothing else, and again what is there', async () => {
  await writeFile(path('other.json'), 'another receipt');
  const over = await baton(['receipt', 'show', receipt.id, '--out', path('other.json')]).catch((e: unknown) => e);
  expect(over).toMatchObject({ message: expect.stringContaining('is there already, with something else') as unknown });
  expect(exitCodeOf(over)).toBe(2);
  expect(await readFile(path('other.json'), 'utf8')).toBe('another receipt');
  for (const _ of [1, 2]) await baton(['receipt', 'show', receipt.id, '--out', path('same.json')]);
  await baton(['receipt', 'show', receipt.id, '--out', '/dev/null']);
  const nowhere = await baton(['receipt', 'show', receipt.id, '--out', '/nowhere/x']).catch((e: unknown) => e);
  expect(errorChain(nowhere)).toBe('--out: write /nowhere/x: ENOENT: no such file or directory');
});

test('who names a node in place of a receipt is told how to find it', async () => {
  const unknown = { ...client, download: () => Promise.reject(new AppError('not_found', 'no receipt worker21')) };
  const connect = () => ({ client: unknown, openConsole: () => Promise.resolve() });
  await expect(baton(['receipt', 'show', 'worker21'], connect)).rejects.toThrow(
    'no receipt worker21\n→ baton receipt list --node worker21',
  );
});
