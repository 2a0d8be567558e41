import { asc, eq, sql } from 'drizzle-orm';
import { findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type SiteCredentialRow, siteCredentials } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

type StoreContext = Pick<SitesContext, 'db' | 'secrets'>;

/** Credential that a BMC asks for; documents name it and never contain it. */
export interface Credential {
  readonly username: string;
  readonly password: string;
}

interface CredentialReader {
  readonly openCredential: (name: string) => Promise<Credential | undefined>;
}

/** All that may be shown of one. */
export type ListedCredential = Omit<SiteCredentialRow, 'password'>;

/** Where a credential's password belongs, as `Secrets` has it. */
export const credentialPlace = (name: string): string => `credential ${name} password`;

const listed = {
  name: siteCredentials.name,
  username: siteCredentials.username,
  updatedBy: siteCredentials.updatedBy,
  updatedAt: siteCredentials.updatedAt,
};

/** By name, without their passwords. */
export function listCredentials(db: Queryable): Promise<ListedCredential[]> {
  return db.select(listed).from(siteCredentials).orderBy(asc(siteCredentials.name));
}

export async function findCredential(db: Queryable, name: string): Promise<ListedCredential | undefined> {
  const [row] = await db.select(listed).from(siteCredentials).where(eq(siteCredentials.name, name));
  return row;
}

/**
 * With its password in clear: only for who hands it on to a BMC.
 * @throws AppError `invalid_argument` naming the key that is missing.
 */
export async function openCredential({ db, secrets }: StoreContext, name: string): Promise<Credential | undefined> {
  const [row] = await db.select().from(siteCredentials).where(eq(siteCredentials.name, name));
  return row && { username: row.username, password: secrets.open(row.password, credentialPlace(name)) };
}

/** A context for work with etcd clusters, whose documents name credentials too. */
export function withCredentials<Context extends StoreContext>(context: Context): Context & CredentialReader {
  return { ...context, openCredential: (name) => openCredential(context, name) };
}

/**
 * Makes it, or replaces it; nodes that are enrolled get the new one with their next prepare.
 * @returns whether it is new
 */
export async function putCredential(
  { db, secrets }: StoreContext,
  name: string,
  { username, password }: Credential,
  user: string | undefined,
): Promise<boolean> {
  const values = { username, password: secrets.seal(password, credentialPlace(name)), updatedBy: user ?? null };
  const [row] = await db
    .insert(siteCredentials)
    .values({ name, ...values })
    .onConflictDoUpdate({ target: siteCredentials.name, set: { ...values, updatedAt: sql`now()` } })
    // of an inserted row no transaction has been the last
    .returning({ isNew: sql<boolean>`xmax = 0` });
  return row?.isNew === true;
}

/** @returns whether there was one */
export async function deleteCredential(db: Queryable, name: string): Promise<boolean> {
  const gone = await db.delete(siteCredentials).where(eq(siteCredentials.name, name)).returning();
  return gone.length > 0;
}

/** A node's `driver_info` as its documents have it, with the login that they name or have. In clear. Pure. */
export function withLogin(
  { driver, driverInfo, credential, login: own }: Pick<SiteNode, 'driver' | 'driverInfo' | 'credential' | 'login'>,
  credentials: ReadonlyMap<string, Credential>,
): JsonObject {
  const bmc = findDriver(driver)?.bmc;
  const login = own ?? credentials.get(credential ?? '');
  if (!bmc || !login) return driverInfo;
  return { ...driverInfo, [bmc.username]: login.username, [bmc.password]: login.password };
}
