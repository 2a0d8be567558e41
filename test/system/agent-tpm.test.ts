import { createHash, createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { activateCredential } from '#agent/tpm/activate-credential.ts';
import { makeAttestationKey } from '#agent/tpm/attestation-key.ts';
import { requireSha256Bank } from '#agent/tpm/capabilities.ts';
import { makeEndorsementKey } from '#agent/tpm/endorsement-key.ts';
import { makeQuote, readPcrs } from '#agent/tpm/quote.ts';
import { createTpm, type Tpm } from '#agent/tpm/tpm.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { quotedPcrs } from '#shared/wire/attestation.ts';
import { type SoftwareTpm, type SoftwareTpmOptions, startSwtpm } from '#test/support/swtpm.ts';

/** The agent's way to a TPM on Debian's swtpm; its tpm2-tools make the credentials and judge the quotes. */
describe('a TPM 2.0', () => {
  let directory: string;
  let swtpm: SoftwareTpm;
  const open: Tpm[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'baton-agent-tpm-'));
  });
  afterEach(async () => {
    for (const tpm of open.splice(0)) await tpm.close();
    await swtpm.stop();
    await rm(directory, { recursive: true });
  });

  const start = async (options: SoftwareTpmOptions = {}): Promise<void> => {
    swtpm = await startSwtpm(options);
  };
  const openTpm = async (limits = { commandMs: 60_000, makeKeyMs: 120_000 }): Promise<Tpm> => {
    const signal = new AbortController().signal;
    const tpm = createTpm(await swtpm.connect(), { log: silentLog, signal, limits });
    open.push(tpm);
    return tpm;
  };
  const closeTpm = async (): Promise<void> => {
    for (const tpm of open.splice(0)) await tpm.close();
  };
  const file = async (name: string, content: Uint8Array): Promise<string> => {
    await writeFile(join(directory, name), content);
    return join(directory, name);
  };
  /** A secret encrypted to the key, by tpm2_makecredential without any TPM, in the form that the wire has. */
  const makeCredential = async (endorsement: Buffer, attestation: Buffer, secret: string): Promise<Buffer> => {
    const name = Buffer.concat([
      Buffer.from([0x00, 0x0b]),
      createHash('sha256').update(attestation.subarray(2)).digest(),
    ]).toString('hex');
    const out = join(directory, 'credential');
    await run('tpm2_makecredential', [
      '--tcti',
      'none',
      '--encryption-key',
      await file('ek.pub', endorsement),
      '--name',
      name,
      '--secret',
      await file('secret', Buffer.from(secret)),
      '--credential-blob',
      out,
    ]);
    return (await readFile(out)).subarray(8); // magic and version are the program's own
  };
  /** Objects and sessions that are in the TPM, by tpm2-tools. */
  const leftovers = async (): Promise<string> =>
    (await swtpm.tool('tpm2_getcap', 'handles-transient')) +
    (await swtpm.tool('tpm2_getcap', 'handles-loaded-session'));

  test.each([
    { certificate: true, algorithm: 'rsa' },
    { certificate: false, algorithm: 'ecc' },
  ])('opens a secret that was encrypted to its $algorithm key, and quotes', async ({ certificate, algorithm }) => {
    await start({ certificate });
    const measured = createHash('sha256').update('a boot loader').digest('hex');
    await swtpm.tool('tpm2_pcrextend', `4:sha256=${measured}`);
    const tpm = await openTpm();
    await requireSha256Bank(tpm, quotedPcrs);
    const endorsement = await makeEndorsementKey(tpm);
    const attestation = await makeAttestationKey(tpm, randomBytes(256));
    expect(endorsement.algorithm).toBe(algorithm);
    expect(endorsement.certificate === undefined).toBe(!certificate);

    const credential = await makeCredential(endorsement.publicPart, attestation.publicPart, 'open sesame');
    expect(String(await activateCredential(tpm, { endorsement, attestation }, credential))).toBe('open sesame');

    const nonce = Buffer.alloc(32, 7);
    const { quote, signature } = await makeQuote(tpm, attestation, nonce, quotedPcrs);
    const values = await readPcrs(tpm, quotedPcrs);
    expect(Object.keys(values).map(Number)).toEqual([...quotedPcrs]);
    expect(values[4]).toBe(createHash('sha256').update(Buffer.alloc(32)).update(measured, 'hex').digest('hex'));
    const [key, message, signed] = [
      await file('ak.pub', attestation.publicPart),
      await file('quote', quote),
      await file('signature', signature),
    ];
    const check = (qualification: Buffer): Promise<unknown> =>
      run('tpm2_checkquote', [
        '--public',
        key,
        '--message',
        message,
        '--signature',
        signed,
        '--hash-algorithm',
        'sha256',
        '--qualification',
        qualification.toString('hex'),
      ]);
    await check(nonce);
    await expect(check(Buffer.alloc(32, 8))).rejects.toThrow(/tpm2_checkquote/);
    const digest = createHash('sha256')
      .update(Buffer.from(Object.values(values).join(''), 'hex'))
      .digest();
    expect(quote.subarray(-32)).toEqual(digest);

    await closeTpm();
    expect(await leftovers()).toBe('');
  });

  test('has the same endorsement key after it was cleared, another attestation key each time', async () => {
    await start();
    const keys = async (): Promise<[string, string]> => {
      const tpm = await openTpm();
      const pair = [await makeEndorsementKey(tpm), await makeAttestationKey(tpm, randomBytes(256))];
      await closeTpm();
      return pair.map(({ publicPart }) => publicPart.toString('hex')) as [string, string];
    };
    const [endorsement, attestation] = await keys();
    await swtpm.tool('tpm2_clear', '--auth-hierarchy', 'platform');
    const [same, other] = await keys();
    expect(same).toBe(endorsement);
    expect(other).not.toBe(attestation);
  });

  test('the certificate is the one that its maker has put into it, for this key', async () => {
    await start();
    await swtpm.tool('tpm2_nvread', '0x01c00002', '--output', join(directory, 'ek.der'));
    await swtpm.tool(
      'tpm2_createek',
      '-G',
      'rsa',
      '-c',
      join(directory, 'ek.ctx'),
      '-u',
      join(directory, 'ek.pem'),
      '-f',
      'pem',
    );
    const { certificate, publicPart } = await makeEndorsementKey(await openTpm());
    expect(certificate).toEqual(await readFile(join(directory, 'ek.der')));
    const ofMaker = new X509Certificate(certificate ?? '').publicKey.export({ format: 'der', type: 'spki' });
    expect(createPublicKey(await readFile(join(directory, 'ek.pem'))).export({ format: 'der', type: 'spki' })).toEqual(
      ofMaker,
    );
    // the modulus is the last field of the public part
    expect(ofMaker.includes(publicPart.subarray(-256))).toBe(true);
  });

  /** Defines the place of a certificate, as the TPM's maker does or an operating system. */
  const define = (by: 'owner' | 'platform', index: string, size: number, attributes: string): Promise<string> => {
    const all = by === 'platform' ? `${attributes}|platformcreate` : attributes;
    return swtpm.tool('tpm2_nvdefine', index, '--hierarchy', by, '--size', String(size), '--attributes', all);
  };
  const fill = async (by: 'owner' | 'platform', index: string, content: Buffer): Promise<string> =>
    swtpm.tool('tpm2_nvwrite', index, '--hierarchy', by, '--input', await file('content', content));
  const readKey = async (): Promise<{ algorithm: string; publicPart: Buffer; certificate: Buffer | undefined }> => {
    const { algorithm, publicPart, certificate } = await makeEndorsementKey(await openTpm());
    await closeTpm();
    return { algorithm, publicPart, certificate };
  };

  test('a certificate for P-256 is preferred, read in pieces and cut to its length', async () => {
    await start();
    const certificate = Buffer.concat([Buffer.from([0x30, 0x82, 0x03, 0xe8]), Buffer.alloc(1000, 7)]);
    await define('platform', '0x01c0000a', 1200, 'ppread|ppwrite|ownerread|authread');
    expect((await readKey()).algorithm).toBe('rsa'); // nothing was written there
    await fill('platform', '0x01c0000a', Buffer.concat([certificate, Buffer.alloc(196, 0xff)]));
    expect(await readKey()).toMatchObject({ algorithm: 'ecc', certificate });
  });

  test.each([
    { certificate: true, algorithm: 'rsa', index: '0x01c0000a' },
    { certificate: false, algorithm: 'ecc', index: '0x01c00002' },
    { certificate: false, algorithm: 'ecc', index: '0x01c0000a' },
  ])(
    'an operating system that defines, fills and undefines $index changes nothing of the $algorithm key (certificate: $certificate)',
    async ({ certificate, algorithm, index }) => {
      await start({ certificate });
      const before = await readKey();
      expect(before.algorithm).toBe(algorithm);
      await define('owner', index, 4, 'ownerread|ownerwrite|authread');
      expect(await readKey()).toEqual(before);
      await fill('owner', index, Buffer.from([0x30, 0x82, 0, 0]));
      expect(await readKey()).toEqual(before);
      await swtpm.tool('tpm2_nvundefine', index, '--hierarchy', 'owner');
      // nor does one that it lets nobody read
      await define('owner', index, 4, 'ownerwrite|policyread');
      await fill('owner', index, Buffer.alloc(4));
      expect(await readKey()).toEqual(before);
    },
  );

  test("an operating system can neither pass an index off as the maker's nor undefine the maker's", async () => {
    await start();
    await expect(define('owner', '0x01c0000a', 4, 'ownerread|ownerwrite|authread|platformcreate')).rejects.toThrow(
      /inconsistent attributes/,
    );
    await expect(swtpm.tool('tpm2_nvundefine', '0x01c00002', '--hierarchy', 'owner')).rejects.toThrow(
      /NV access authorization fails/,
    );
  });

  test("the maker's empty index that an operating system may fill decides before it is filled as after", async () => {
    await start({ certificate: false });
    await define('platform', '0x01c00002', 4, 'ppread|ppwrite|ownerread|ownerwrite|authread');
    const before = await readKey();
    expect(before).toMatchObject({ algorithm: 'rsa', certificate: undefined });
    await fill('owner', '0x01c00002', Buffer.alloc(4));
    expect(await readKey()).toEqual({ ...before, certificate: Buffer.alloc(4) });
  });

  test('a certificate that may not be read is not taken for none: that would make another key', async () => {
    await start();
    await define('platform', '0x01c0000a', 4, 'ppwrite|policyread');
    await fill('platform', '0x01c0000a', Buffer.alloc(4));
    await expect(readKey()).rejects.toThrow('index 0x01c0000a of the TPM can be read with a password only');
  });

  test('one that measures with SHA-1 alone is refused in words', async () => {
    await start({ banks: 'sha1' });
    const tpm = await openTpm();
    await expect(requireSha256Bank(tpm, quotedPcrs)).rejects.toThrow(
      'the TPM measures with SHA-1, not with SHA-256; switch that bank on in the firmware setup',
    );
  });

  test('a credential for another TPM, or none at all, is refused, and nothing of ours stays in it', async () => {
    await start({ certificate: false });
    const tpm = await openTpm();
    const keys = {
      endorsement: await makeEndorsementKey(tpm),
      attestation: await makeAttestationKey(tpm, randomBytes(256)),
    };
    const another = await makeAttestationKey(tpm, randomBytes(256));
    const foreign = await makeCredential(keys.endorsement.publicPart, another.publicPart, 'open sesame');
    await expect(activateCredential(tpm, keys, foreign)).rejects.toThrow(
      /the TPM refuses TPM2_ActivateCredential: TPM_RC_INTEGRITY/,
    );
    for (const [credential, words] of [
      [Buffer.from('x'), 'the credential ends after 1 bytes, amid a field'],
      [Buffer.concat([foreign, Buffer.from('x')]), 'the credential has 1 bytes too many'],
      [Buffer.alloc(4), 'the TPM refuses TPM2_ActivateCredential'],
    ] as const) {
      await expect(activateCredential(tpm, keys, credential)).rejects.toThrow(words);
    }
    await closeTpm();
    expect(await leftovers()).toBe('');
  });

  test('passwords of an operating system that owned it are named', async () => {
    await start({ certificate: false });
    await swtpm.tool('tpm2_changeauth', '--object-context', 'endorsement', 'secret');
    await expect(makeEndorsementKey(await openTpm())).rejects.toThrow(
      /TPM2_CreatePrimary: TPM_RC_(AUTH_FAIL|BAD_AUTH) .*clear the TPM/,
    );
  });

  test('one that hangs is given up in its time, and nothing more is sent to it', async () => {
    await start({ certificate: false });
    const tpm = await openTpm({ commandMs: 50, makeKeyMs: 50 });
    swtpm.pause();
    await expect(makeEndorsementKey(tpm)).rejects.toThrow('the TPM has not answered TPM2_NV_ReadPublic in 0.05 s');
    swtpm.resume();
    await expect(makeAttestationKey(tpm, randomBytes(256))).rejects.toThrow(
      'the TPM hangs, TPM2_GetCapability is not sent to it',
    );
    expect(await tpm.close()).toBeUndefined();
  });
});
