import { describe, expect, test } from 'vitest';
import { hasP256, requireSha256Bank } from '#agent/tpm/capabilities.ts';
import { trimCertificate } from '#agent/tpm/endorsement-key.ts';
import { readPcrs } from '#agent/tpm/quote.ts';
import { createTpm, hasRefusedWith, type Tpm } from '#agent/tpm/tpm.ts';
import { silentLog } from '#shared/log.ts';

/** A TPM that answers these hex texts one after the other, then never again. */
function tpmAnswering(...answers: readonly string[]): { readonly tpm: Tpm; readonly sent: string[] } {
  const left = [...answers];
  const sent: string[] = [];
  const transport = {
    exchange: (command: Buffer): Promise<Buffer> => {
      sent.push(command.toString('hex'));
      const answer = left.shift();
      return answer === undefined ? new Promise(() => undefined) : Promise.resolve(Buffer.from(answer, 'hex'));
    },
    close: (): void => void sent.push('closed'),
  };
  const limits = { commandMs: 20, makeKeyMs: 20 };
  return { tpm: createTpm(transport, { log: silentLog, signal: new AbortController().signal, limits }), sent };
}

/** Fields beside each other. */
const hex = (...fields: readonly string[]): string => fields.join('');
const refusal = (code: string): string => `80010000000a${code.padStart(8, '0')}`;
const session = hex('800100000012', '00000000', '03000000', '0002abcd');
const startSession = { name: 'TPM2_StartAuthSession' } as const;

describe('a TPM', () => {
  test('is sent bytes as part 3 of the library has them', async () => {
    const { tpm, sent } = tpmAnswering(session, '80020000001300000000000000000000010000');
    expect(await tpm.execute(startSession)).toEqual({
      handle: 0x0300_0000,
      parameters: Buffer.from('0002abcd', 'hex'),
    });
    await tpm.execute({
      name: 'TPM2_PolicySecret',
      handles: [0x4000_000b, 0x0300_0000],
      sessions: [0x4000_0009],
      parameters: [Buffer.from('0000', 'hex')],
    });
    expect(sent).toEqual([
      '80010000000a00000176',
      hex('80020000', '0021', '00000151', '4000000b', '03000000', '00000009', '40000009', '0000', '00', '0000', '0000'),
    ]);
  });

  test('that is busy is asked again', async () => {
    const { tpm, sent } = tpmAnswering(refusal('922'), refusal('90a'), session);
    expect((await tpm.execute(startSession)).handle).toBe(0x0300_0000);
    expect(sent).toHaveLength(3);
  });

  test.each([
    ['101', 'TPM_RC_FAILURE (0x101), it has failed its self-test, and does nothing until the machine is powered off'],
    ['185', 'TPM_RC_HIERARCHY (0x185), the hierarchy is switched off in the firmware setup'],
    ['9a2', 'TPM_RC_BAD_AUTH (0x9a2), a password is set, by an operating system that owned it; clear the TPM'],
    ['1ff', '0x1ff'],
  ])('that refuses with %s is quoted in words', async (code, words) => {
    const { tpm } = tpmAnswering(refusal(code));
    const error = await tpm.execute(startSession).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'agent_error', message: `the TPM refuses TPM2_StartAuthSession: ${words}` });
    expect(hasRefusedWith(error, 0x085)).toBe(code === '185');
  });

  test.each([
    ['', 'the answer to TPM2_StartAuthSession ends after 0 bytes, amid a field'],
    ['8001', 'the answer to TPM2_StartAuthSession ends after 2 bytes, amid a field'],
    ['8001ffffffff00000000', 'the answer to TPM2_StartAuthSession has 10 bytes and says 4294967295'],
    ['80010000000a00000000', 'the answer to TPM2_StartAuthSession ends after 10 bytes, amid a field'],
  ])('that answers nonsense is not believed: %s', async (answer, words) => {
    await expect(tpmAnswering(answer).tpm.execute(startSession)).rejects.toThrow(words);
  });

  test('that hangs is sent nothing more, not even to flush what is in it', async () => {
    const { tpm, sent } = tpmAnswering(session);
    await tpm.execute(startSession);
    await expect(tpm.execute(startSession)).rejects.toMatchObject({ code: 'timeout' });
    await tpm.close();
    expect(sent.slice(2)).toEqual(['closed']);
  });

  test('is left without what was made in it', async () => {
    const { tpm, sent } = tpmAnswering(session, refusal('000'));
    await tpm.execute(startSession);
    await tpm.close();
    expect(sent.slice(1)).toEqual(['80010000000e0000016503000000', 'closed']);
  });

  test('is left when the agent stops', async () => {
    const stop = new AbortController();
    const transport = { exchange: () => new Promise<Buffer>(() => undefined), close: () => undefined };
    const tpm = createTpm(transport, { log: silentLog, signal: stop.signal });
    const asked = tpm.execute(startSession);
    stop.abort(new Error('stopped by SIGTERM'));
    await expect(asked).rejects.toMatchObject({ code: 'aborted' });
    await expect(tpm.execute(startSession)).rejects.toMatchObject({ code: 'timeout' });
  });
});

describe('its lists', () => {
  const capability = (data: string): string => {
    const body = `00${'0'.repeat(8)}${data}`;
    return `8001${(10 + body.length / 2).toString(16).padStart(8, '0')}00000000${body}`;
  };

  test('elliptic curves: none, others, P-256; a refusal of the list is none', async () => {
    expect(await hasP256(tpmAnswering(capability('00000000')).tpm)).toBe(false);
    expect(await hasP256(tpmAnswering(capability('000000010004')).tpm)).toBe(false);
    expect(await hasP256(tpmAnswering(capability('0000000200030004')).tpm)).toBe(true);
    expect(await hasP256(tpmAnswering(refusal('1c4')).tpm)).toBe(false);
    await expect(hasP256(tpmAnswering(refusal('101')).tpm)).rejects.toThrow('TPM_RC_FAILURE');
  });

  test('banks: one that lacks a PCR will not do', async () => {
    const banks = (sha256: string): string => capability(`00000002000403ffffff000b03${sha256}`);
    await requireSha256Bank(tpmAnswering(banks('ffffff')).tpm, [0, 23]);
    await expect(requireSha256Bank(tpmAnswering(banks('feffff')).tpm, [0, 23])).rejects.toThrow('not with SHA-256');
    await expect(requireSha256Bank(tpmAnswering(capability('00000000')).tpm, [0])).rejects.toThrow(
      'measures with nothing',
    );
  });

  test('PCRs: eight at a time; a TPM that leaves out values is not believed', async () => {
    const answer = (selected: string, count: number): string => {
      const body = `0000000100000001000b03${selected}${count.toString(16).padStart(8, '0')}${`0020${'ab'.repeat(32)}`.repeat(count)}`;
      return `8001${(10 + body.length / 2).toString(16).padStart(8, '0')}00000000${body}`;
    };
    const { tpm } = tpmAnswering(answer('ff0000', 8), answer('000100', 1));
    expect(Object.keys(await readPcrs(tpm, [0, 1, 2, 3, 4, 5, 6, 7, 8]))).toHaveLength(9);
    for (const [selected, count] of [
      ['000000', 0],
      ['010000', 0],
      ['030000', 1],
      ['040000', 1], // one that was not asked for: nothing would ever be left out of the next question
    ] as const) {
      await expect(readPcrs(tpmAnswering(answer(selected, count)).tpm, [0, 1])).rejects.toThrow(
        `the TPM was asked for PCRs 0, 1, and answers ${count} values for another list`,
      );
    }
  });
});

test('what is behind a certificate is cut, what is none is left', () => {
  const certificate = Buffer.from('30820003010203', 'hex');
  expect(trimCertificate(Buffer.concat([certificate, Buffer.from('ffff', 'hex')]))).toEqual(certificate);
  for (const other of ['', '3082', '30820009010203', '0123456789']) {
    expect(trimCertificate(Buffer.from(other, 'hex'))).toEqual(Buffer.from(other, 'hex'));
  }
});
