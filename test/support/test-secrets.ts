import { createSecrets, type Secrets } from '#conductor/kernel/secrets/secrets.ts';

const key = Buffer.alloc(32, 7);

/** One for all conductors of the tests, since several may share a database. */
export const testSecrets: Secrets = createSecrets([key]);

/** The content of a key file with the same key. */
export const testKeyFile = `${key.toString('base64')}\n`;
