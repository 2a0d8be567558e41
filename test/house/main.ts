import { join } from 'node:path';
import { measureHouse } from './measure.ts';

/** `npm run house [CLONE]`: what the sources of a clone come to; default: of this one. */
const measures = await measureHouse(process.argv[2] ?? join(import.meta.dirname, '../..'));
process.stdout.write(`${JSON.stringify(measures, null, 2)}\n`);
