import { createPublicKey, randomBytes, sign, verify } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { receiptKeys } from '#conductor/kernel/db/schema/receipt.ts';
import { createSecrets } from '#conductor/kernel/secrets/secrets.ts';
import { fingerprintOf } from '#conductor/model/receipts/envelope.ts';
import { ensureSigningKey, listReceiptKeys, rotateSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { sealStoredSecrets } from '#conductor/start/seal-stored.ts';
import { silentLog } from '#shared/log.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets as secrets } from '#test/support/test-secrets.ts';

const database = await openTestDatabase();
const { db } = database;
beforeEach(() => db.delete(receiptKeys));
afterAll(() => database.close());

test('a database has one key in use, however many ask for the first', async () => {
  const asked = await Promise.all(Array.from({ length: 5 }, () => ensureSigningKey({ db, secrets })));
  expect(new Set(asked.map(({ fingerprint }) => fingerprint)).size).toBe(1);
  const [listed, ...more] = await listReceiptKeys(db);
  expect(more).toEqual([]);
  expect(listed).toMatchObject({ fingerprint: asked[0]?.fingerprint, retiredAt: null });
  const publicKey = createPublicKey(listed?.publicKey ?? '');
  expect(fingerprintOf(publicKey)).toBe(asked[0]?.fingerprint);
  const word = Buffer.from('wiped');
  for (const { privateKey } of asked)
    expect(verify(undefined, word, publicKey, sign(undefined, word, privateKey))).toBe(true);
});

test('its private half is sealed, for no other row, and never listed', async () => {
  const { privateKey } = await ensureSigningKey({ db, secrets });
  const [row] = await db.select().from(receiptKeys);
  expect(row?.privateKey).toMatch(/^sealed:v1:/);
  const der = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  expect(JSON.stringify([row, await listReceiptKeys(db)])).not.toContain(der);
  expect(JSON.stringify(await listReceiptKeys(db))).not.toContain('sealed:');
  await db.update(receiptKeys).set({ fingerprint: 'f'.repeat(64) });
  await expect(ensureSigningKey({ db, secrets })).rejects.toThrow(
    `receipt key ${'f'.repeat(64)} private_key can't be opened`,
  );
});

test('another key takes its place; of the old one the public half alone is left', async () => {
  const old = await ensureSigningKey({ db, secrets });
  const [one, two] = await Promise.all([rotateSigningKey({ db, secrets }), rotateSigningKey({ db, secrets })]);
  const keys = await listReceiptKeys(db);
  expect(keys[0]?.fingerprint).toBe(old.fingerprint);
  expect(keys.filter(({ retiredAt }) => retiredAt === null)).toHaveLength(1);
  expect(keys.at(-1)?.retiredAt).toBeNull();
  expect([one, two]).toContain(keys.at(-1)?.fingerprint);
  expect((await ensureSigningKey({ db, secrets })).fingerprint).toBe(keys.at(-1)?.fingerprint);
  const [row] = await db.select().from(receiptKeys).where(eq(receiptKeys.fingerprint, old.fingerprint));
  expect(row).toMatchObject({ privateKey: null, retiredAt: expect.any(Date) as unknown });
});

test('it is sealed again when the secret key is rotated; without that key a new one helps', async () => {
  const { fingerprint } = await ensureSigningKey({ db, secrets });
  const newKey = randomBytes(32);
  const rotated = createSecrets([newKey, Buffer.alloc(32, 7)]);
  expect(await sealStoredSecrets({ db, log: silentLog, secrets: rotated })).toBe(1);
  expect(await sealStoredSecrets({ db, log: silentLog, secrets: rotated })).toBe(0);
  const alone = createSecrets([newKey]);
  expect((await ensureSigningKey({ db, secrets: alone })).fingerprint).toBe(fingerprint);

  await expect(ensureSigningKey({ db, secrets })).rejects.toThrow(/private_key is sealed with key .* not among/);
  const made = await rotateSigningKey({ db, secrets });
  expect((await ensureSigningKey({ db, secrets })).fingerprint).toBe(made);
});
