import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { collectInventory } from '#conductor/flows/conductor-steps/inspect-machine.ts';
import { isTrusted, requireTrusted } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import { tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { acceptTpm, findNodeTpm, recordAttestation } from '#conductor/nodes/tpm/tpm-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

/** Steps that wait for the ramdisk, where machines have to prove themselves. */

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const startedAt = new Date(Date.now() - 60_000);
let nodeUuid: string;
beforeEach(async () => {
  const node = availableNode(crypto.randomUUID());
  nodeUuid = node.uuid;
  await db.insert(nodes).values(node);
});

/** @param session the boot's; `called`: its agent has called in */
const contextOf = (
  attestation: string,
  session?: { readonly called?: boolean; readonly verdict?: BootVerdict; readonly createdAt?: Date },
  driverInfo: Record<string, unknown> = {},
): StepContext =>
  ({
    db,
    node: { uuid: nodeUuid, driverInfo },
    flow: { startedAt },
    step: { startedAt },
    session: session && {
      createdAt: session.createdAt ?? new Date(),
      lastHeartbeatAt: session.called ? new Date() : null,
      attestation: session.verdict ? { verdict: session.verdict, reasons, at: '' } : null,
    },
    config: { attestation, conductorName: 'c1' },
    ask: <T>(answer: Promise<T>) => answer,
    agent: () => {
      throw new Error('the agent is asked');
    },
  }) as unknown as StepContext;

const [ours, theirs] = await Promise.all(
  ['rsa', 'ecc'].map(async (kind) => {
    const recordings = await readRecordings('tpm/quotes', z.looseObject({ kind: z.string() }));
    return (recordings.find(({ reading }) => reading.kind === kind)?.outputs['tpm2_createek'] ?? '').replaceAll(
      /\s/g,
      '',
    );
  }),
);
const reasons = ['the firmware changed (PCR 0)'];
const measured: MeasuredBoot = { pcrs: { '0': 'aa' }, variables: {}, programs: ['one'] };
const boot = (
  verdict: BootVerdict,
  { ek = ours ?? '', log = true, mustBeTrusted = true, measuredBoot = measured, because = reasons } = {},
) =>
  db.transaction((tx) =>
    recordAttestation(
      tx,
      nodeUuid,
      {
        ekPublic: ek,
        ekCertificate: undefined,
        boot: log ? measuredBoot : undefined,
        attestationKey: { akPublic: '' },
        verdict,
        reasons: because,
      },
      { mustBeTrusted },
    ),
  );
const fingerprintOf = (ek: string | undefined) => tpmFingerprint(ek ?? '');

describe('a step that waits for the ramdisk', () => {
  const refusal = async (session: Parameters<typeof contextOf>[1], mode = 'require', own = {}) => {
    try {
      await requireTrusted(contextOf(mode, session, own));
      return undefined;
    } catch (error) {
      return error;
    }
  };

  test.each(['changed', 'unknown'] as const)(
    'fails for a boot that is %s, whether it calls in or not',
    async (verdict) => {
      expect(await refusal({ verdict })).toMatchObject({
        message: `the boot is not trusted (${verdict}): the firmware changed (PCR 0)`,
        situation: 'boot_not_trusted',
      });
      expect(await refusal({ verdict, called: true })).toBeInstanceOf(AppError);
      expect(await refusal({ verdict, called: true }, 'record')).toBeUndefined();
    },
  );

  test('waits before any, and goes on for one that is trusted', async () => {
    expect(await refusal(undefined)).toBeUndefined();
    expect(await refusal({})).toBeUndefined();
    expect(await isTrusted(contextOf('require', {}))).toBe(false);
    expect(await refusal({ verdict: 'trusted', called: true })).toBeUndefined();
    expect(await isTrusted(contextOf('require', { verdict: 'trusted' }))).toBe(true);
  });

  test('takes no agent that has called in without proof: one of before the setting, or of a conductor without it', async () => {
    expect(await refusal({ called: true })).toMatchObject({ message: expect.stringContaining('has not proved') });
    expect(await isTrusted(contextOf('require', { called: true }))).toBe(false);
    expect(await isTrusted(contextOf('record', { called: true }))).toBe(true);
  });

  test("goes by the node's own setting before the conductor's, and by no misspelled one", async () => {
    expect(await refusal({ called: true }, 'off', { attestation: 'require' })).toBeInstanceOf(AppError);
    expect(await refusal({ called: true }, 'require', { attestation: 'record' })).toBeUndefined();
    expect(await refusal({ called: true }, 'record', { attestation: 'Require' })).toMatchObject({
      message: 'driver_info.attestation: it must be one of off, record, require',
    });
  });

  test('takes what a conductor of the release before has found trusted, which keeps no verdict with the boot', async () => {
    await boot('trusted');
    expect(await refusal({ called: true, createdAt: startedAt })).toBeUndefined();
    expect(await refusal({ called: true, createdAt: new Date(Date.now() + 60_000) }), 'a boot since').toBeInstanceOf(
      AppError,
    );
    expect(await refusal({ called: true, createdAt: startedAt, verdict: 'unknown' })).toBeInstanceOf(AppError);
  });
});

describe('a TPM that the node is known by', () => {
  const accept = (given: Omit<Parameters<typeof acceptTpm>[2], 'attestedAt'>, attestedAt?: string) =>
    db.transaction((tx) => acceptTpm(tx, nodeUuid, { ...given, attestedAt }));

  test('is the first, and where boots must be trusted only one whose boot is', async () => {
    await boot('unknown');
    expect(await findNodeTpm(db, nodeUuid)).toBeUndefined();
    await boot('unknown', { mustBeTrusted: false, log: false });
    expect(await findNodeTpm(db, nodeUuid)).toMatchObject({ ekPublic: ours, acceptedBoot: null });
    await boot('unknown', { mustBeTrusted: false });
    expect(await findNodeTpm(db, nodeUuid), 'its first boot with a log').toMatchObject({ acceptedBoot: measured });
    await boot('changed', { mustBeTrusted: false });
    expect(await findNodeTpm(db, nodeUuid)).toMatchObject({ acceptedBoot: measured, verdict: 'changed' });
  });

  test('is news the first time, and where its verdict or the reasons are others; another TPM is once', async () => {
    expect(await boot('unknown'), 'nothing is kept').toBeUndefined();
    expect(await boot('trusted')).toEqual({ from: null, another: false });
    expect(await boot('trusted')).toBeUndefined();
    expect(await boot('changed')).toEqual({ from: 'trusted', another: false });
    expect(await boot('changed')).toBeUndefined();
    const because = ['Secure Boot was on and is off (PCR 7)'];
    expect(await boot('changed', { because })).toEqual({ from: 'changed', another: false });
    expect(await boot('changed', { ek: theirs ?? '' })).toEqual({ from: 'changed', another: true });
    expect(await boot('changed', { ek: theirs ?? '' })).toBeUndefined();
  });

  test("whose accepted boot is an older release's gets its policy by the next that is trusted, and no other", async () => {
    const withPolicy = (policy: string) => ({ ...measured, policy });
    await boot('trusted');
    await boot('changed', { measuredBoot: withPolicy('a stranger') });
    expect((await findNodeTpm(db, nodeUuid))?.acceptedBoot).toEqual(measured);
    await boot('trusted', { measuredBoot: withPolicy('first') });
    await boot('trusted', { measuredBoot: withPolicy('second') });
    expect((await findNodeTpm(db, nodeUuid))?.acceptedBoot).toEqual(withPolicy('first'));
  });

  test('is accepted by somebody also where callers have no login', async () => {
    await boot('trusted');
    const accepted = await accept({ fingerprint: fingerprintOf(ours), user: null });
    expect(accepted.acceptedBy).toBe('a caller without login');
  });

  test('is another once that is accepted by its fingerprint, and no third', async () => {
    await boot('trusted');
    await boot('changed', { ek: theirs ?? '' });
    const user = 'alice';
    await expect(accept({ fingerprint: '0'.repeat(64), user })).rejects.toThrow(
      `those of ${fingerprintOf(ours)} and ${fingerprintOf(theirs)} have`,
    );
    const accepted = await accept({ fingerprint: fingerprintOf(theirs), user });
    expect(accepted).toMatchObject({ ekPublic: theirs, otherEkPublic: null, trustedAt: null, verdict: 'unknown' });
    expect(accepted.acceptedBy).toBe(user);
  });

  test('is not accepted with a boot that has come since it was shown', async () => {
    await boot('trusted');
    await boot('changed', { ek: theirs ?? '' });
    await db.update(nodeTpms).set({
      seenAt: new Date('2026-11-30T10:00:01.500Z'),
      otherAt: new Date('2026-11-30T11:00:00.000Z'),
    });
    const user = 'alice';
    const own = { fingerprint: fingerprintOf(ours), user };
    const other = { fingerprint: fingerprintOf(theirs), user };
    const shown = '2026-11-30T10:00:01.499000+00:00';
    await expect(accept(own, shown)).rejects.toThrow('newest boot is of 2026-11-30T10:00:01.500000+00:00, not of');
    // each TPM has a time of its own
    await expect(accept(other, '2026-11-30T10:00:01.500000+00:00')).rejects.toThrow('newest boot is of');
    expect(await findNodeTpm(db, nodeUuid)).toMatchObject({ ekPublic: ours, acceptedBy: null });
    expect(await accept(own, '2026-11-30T11:00:01.500+01:00')).toMatchObject({ ekPublic: ours, acceptedBy: user });
    expect(await accept(other, '2026-11-30T11:00:00.000000+00:00')).toMatchObject({ ekPublic: theirs });
  });
});

test('an inventory that anybody may have sent is not taken: the proved agent is asked', async () => {
  await recordInspected(db, { nodeUuid, inventory: {}, pluginData: { error: 'sent by a stranger' } });
  await expect(collectInventory.run(contextOf('require'))).rejects.toThrow('the agent is asked');
  await expect(collectInventory.run(contextOf('record'))).rejects.toThrow('sent by a stranger');
});
