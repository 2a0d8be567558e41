import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { asc, isNull, sql } from 'drizzle-orm';
import type { KernelContext } from '#conductor/kernel/context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type ReceiptKeyRow, receiptKeys } from '#conductor/kernel/db/schema/receipt.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { fingerprintOf } from '#conductor/model/receipts/envelope.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** All that may be shown of one. */
export type ListedReceiptKey = Omit<ReceiptKeyRow, 'privateKey'>;

export interface SigningKey {
  readonly fingerprint: string;
  readonly privateKey: KeyObject;
}

/** Where a key's private half belongs, as `Secrets` has it. */
export const receiptKeyPlace = (fingerprint: string): string => `receipt key ${fingerprint} private_key`;

const listed = {
  fingerprint: receiptKeys.fingerprint,
  publicKey: receiptKeys.publicKey,
  createdAt: receiptKeys.createdAt,
  retiredAt: receiptKeys.retiredAt,
};

/** All there have ever been, the one in use last; without their private halves. */
export function listReceiptKeys(db: Queryable): Promise<ListedReceiptKey[]> {
  return db.select(listed).from(receiptKeys).orderBy(asc(receiptKeys.createdAt), asc(receiptKeys.retiredAt));
}

/**
 * The key in use, made if there is none. Of conductors that make one at the same time the database takes one.
 * @throws AppError `invalid_argument` when what sealed it is not among the conductor's secret keys.
 */
export async function ensureSigningKey({ db, secrets }: Pick<KernelContext, 'db' | 'secrets'>): Promise<SigningKey> {
  const row = (await findKeyInUse(db)) ?? (await insertKey(db, secrets));
  return openKey(secrets, row);
}

/** The key in use, which no rotation retires before the transaction has ended: what it signs is kept by then. */
export async function holdSigningKey(tx: Transaction, secrets: Secrets): Promise<SigningKey> {
  const held = async (): Promise<ReceiptKeyRow | undefined> =>
    (await tx.select().from(receiptKeys).where(isNull(receiptKeys.retiredAt)).for('share'))[0];
  // one that was retired while it was waited for is skipped, and its successor not seen by that same statement
  const row = (await held()) ?? (await held());
  if (row) return openKey(secrets, row);
  await insertKey(tx, secrets);
  return holdSigningKey(tx, secrets);
}

/**
 * Takes a new key from now on. The private half of the old one is gone with it: nobody signs with it again; its public
 * half stays, for the receipts that it has signed.
 */
export async function rotateSigningKey({ db, secrets }: Pick<KernelContext, 'db' | 'secrets'>): Promise<string> {
  return db.transaction(async (tx) => {
    // waits for those who sign with it, before it looks at the clock
    await tx.select().from(receiptKeys).where(isNull(receiptKeys.retiredAt)).for('update');
    // conductors' clocks differ, and nothing may look as if it was signed later
    const lastSigned = sql`(select max(signed_at) from receipts where key_fingerprint = fingerprint)`;
    await tx
      .update(receiptKeys)
      .set({ privateKey: null, retiredAt: sql`greatest(clock_timestamp(), ${lastSigned})` })
      .where(isNull(receiptKeys.retiredAt));
    return (await insertKey(tx, secrets)).fingerprint;
  });
}

async function findKeyInUse(db: Queryable): Promise<ReceiptKeyRow | undefined> {
  const [row] = await db.select().from(receiptKeys).where(isNull(receiptKeys.retiredAt));
  return row;
}

async function insertKey(db: Queryable, secrets: Secrets): Promise<ReceiptKeyRow> {
  const made = generateKeyPairSync('ed25519');
  const fingerprint = fingerprintOf(made.publicKey);
  const pem = made.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await db
    .insert(receiptKeys)
    .values({
      fingerprint,
      publicKey: made.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      privateKey: secrets.seal(pem, receiptKeyPlace(fingerprint)),
      // of two rotations in one transaction each, the later one's key is the newer
      createdAt: sql`clock_timestamp()`,
    })
    .onConflictDoNothing();
  const row = await findKeyInUse(db);
  if (!row) throw new AppError('internal', 'make a key that signs receipts: the database has none afterwards');
  return row;
}

function openKey(secrets: Secrets, { fingerprint, privateKey: sealed }: ReceiptKeyRow): SigningKey {
  if (sealed === null) throw new AppError('internal', `receipt key ${fingerprint} is in use without a private half`);
  const privateKey = createPrivateKey(secrets.open(sealed, receiptKeyPlace(fingerprint)));
  if (fingerprintOf(createPublicKey(privateKey)) === fingerprint) return { fingerprint, privateKey };
  throw new AppError('internal', `receipt key ${fingerprint}: its private half is another key's`);
}
