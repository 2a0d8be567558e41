import { expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';
import { AppError } from '#shared/errors/app-error.ts';

const own = 'a'.repeat(64);
const tpm = {
  verdict: 'changed',
  reasons: ['Secure Boot was on and is off (PCR 7)'],
  attested_at: '2026-11-30T10:00:00.000000+00:00',
  tpm: { fingerprint: own },
  accepted: { at: '2026-11-29T10:00:00.000000+00:00', by: null as string | null },
  other: null as { tpm: { fingerprint: string } } | null,
};

/** The section of `baton node show` on the boot's verdict. */
async function shown(answer: typeof tpm | undefined | Error): Promise<string> {
  const terminal = createRecordingTerminal((request) =>
    request.endsWith('/tpm') ? answer : { uuid: 'u1', name: 'n1', provision_state: 'active' },
  );
  const output = await terminal.run('node', 'show', 'n1');
  return /^Attestation\n(?: .*\n)+/m.exec(output)?.[0].replaceAll(/ +/g, ' ') ?? '';
}

test('a boot that was not trusted is shown with its reasons, and the command that accepts it', async () => {
  const section = await shown(tpm);
  expect(section).toContain(' verdict changed\n reason Secure Boot was on and is off (PCR 7)\n');
  expect(section).toContain(` tpm ${own}\n`);
  expect(section).toContain(` baton tpm accept u1 ${own.slice(0, 16)}\n`);
});

test('one that somebody has accepted since says so, and asks for nothing', async () => {
  const section = await shown({ ...tpm, accepted: { at: '2026-11-30T11:00:00.000000+00:00', by: 'alice' } });
  expect(section).toContain('verdict changed, accepted since: its next boot is judged');
  expect(section).not.toContain('baton tpm accept');
});

test('a trusted one asks for nothing; another TPM that has asked is named', async () => {
  const other = { tpm: { fingerprint: 'b'.repeat(64) } };
  const section = await shown({ ...tpm, verdict: 'trusted', reasons: [], other });
  expect(section).toContain(' verdict trusted\n');
  expect(section).not.toContain('baton tpm accept');
  expect(section).toContain(`${other.tpm.fingerprint} has asked; see baton tpm show u1`);
});

test('a node that was never attested has no such section, and one that can not be read has its reason', async () => {
  expect(await shown(undefined)).toBe('');
  expect(await shown(new AppError('forbidden', 'not yours'))).toContain('verdict not read: not yours');
});

test('as JSON the node alone is read', async () => {
  const terminal = createRecordingTerminal(() => ({ uuid: 'u1', name: 'n1' }));
  await terminal.run('node', 'show', 'n1', '-o', 'json');
  expect(terminal.calls.map(([request]) => request)).toEqual(['GET /v1/nodes/n1']);
});
