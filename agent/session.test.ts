import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readSavedIdentity, saveIdentity } from '#agent/session.ts';
import { silentLog } from '#shared/log.ts';

const identity = { node_uuid: 'n', token: 't', address: '192.0.2.1', certificate_pem: 'C', key_pem: 'K' };

describe('the saved identity', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'baton-identity-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  test('is read back, and only root reads it', async () => {
    const path = join(directory, 'a/b');
    await saveIdentity(path, identity);
    await saveIdentity(path, { ...identity, token: 't2' });
    expect(await readSavedIdentity(path, silentLog)).toEqual({ ...identity, token: 't2' });
    expect((await stat(join(path, 'identity.json'))).mode & 0o777).toBe(0o600);
  });

  test('is node and token where there is no certificate', async () => {
    const plain = { node_uuid: 'n', token: 't', address: '192.0.2.1' };
    await saveIdentity(directory, plain);
    expect(await readSavedIdentity(directory, silentLog)).toEqual(plain);
  });

  test('is nothing at the first start, nor when the file is damaged', async () => {
    expect(await readSavedIdentity(directory, silentLog)).toBeUndefined();
    await writeFile(join(directory, 'identity.json'), '{"node_uuid": 1');
    expect(await readSavedIdentity(directory, silentLog)).toBeUndefined();
  });

  test('says where it could not be saved', async () => {
    await writeFile(join(directory, 'file'), '');
    await expect(saveIdentity(join(directory, 'file'), identity)).rejects.toThrow(
      /save the agent's identity as .*file/,
    );
  });
});
