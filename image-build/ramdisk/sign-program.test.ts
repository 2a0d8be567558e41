import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signerHash, signProgram } from '#image-build/ramdisk/sign-program.ts';

/** A signer of one's own, in place of one with a key in hardware: it is called with both files. */

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-sign-'));
  await writeFile(join(folder, 'program'), program(8));
});
afterAll(() => rm(folder, { recursive: true }));

function program(signatures: number, body = 1): Buffer {
  const bytes = Buffer.alloc(1024 + signatures, body);
  bytes.writeUInt32LE(0x80, 0x3c);
  bytes.write('PE\0\0', 0x80, 'latin1');
  bytes.writeUInt16LE(0x20b, 0x80 + 24);
  bytes.writeUInt32LE(1024, 0x80 + 24 + 144);
  bytes.writeUInt32LE(signatures, 0x80 + 24 + 148);
  return bytes;
}

async function sign(writes: Buffer): Promise<string[]> {
  const calls: string[] = [];
  const run = async (name: string, [from = '', to = '']: readonly string[] = []) => {
    calls.push(name, from, to);
    await copyFile(from, to);
    await writeFile(to, writes);
    return { stdout: '', stderr: '', exitCode: 0 };
  };
  const files = { program: join(folder, 'program'), target: join(folder, 'signed') };
  await signProgram({ run: run as never }, { command: 'sign-by-hsm' }, files);
  return calls;
}

test('a second signature is added', async () => {
  expect(await sign(program(24))).toEqual(['sign-by-hsm', join(folder, 'program'), join(folder, 'signed')]);
  expect((await readFile(join(folder, 'signed'))).length).toBe(1048);
});

test('another program, or one without another signature, is refused', async () => {
  await expect(sign(program(24, 2))).rejects.toThrow('another program than the one that it was given');
  await expect(sign(program(8))).rejects.toThrow('has added no signature');
});

test('another certificate makes another build, another key file of it does not', async () => {
  const [certificate, other] = [join(folder, 'one.pem'), join(folder, 'other.pem')];
  await writeFile(certificate, 'one');
  await writeFile(other, 'other');
  const hash = await signerHash({ key: 'a', certificate });
  expect(await signerHash({ key: 'b', certificate })).toBe(hash);
  expect(await signerHash({ key: 'a', certificate: other })).not.toBe(hash);
});
