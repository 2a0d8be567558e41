import { z } from 'zod';

/** What the fields of answers are made of. */

export const uuid = z.guid();
export const time = z.string().meta({ description: '2026-11-21T07:35:42.609000+00:00' });
export const line = z.string().nullable();
export const json = z.record(z.string(), z.unknown());
export const whole = z.number().int();
const Link = z.object({ href: z.string(), rel: z.string() });
export const links = z.array(Link);
