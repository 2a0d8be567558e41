import { expect } from 'vitest';

/** Looks again and again until the check holds; what it said last is the failure. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  await expect.poll(async () => check().then(() => 'so', String), { interval: 20 }).toBe('so');
}
