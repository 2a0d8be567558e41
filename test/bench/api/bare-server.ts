import { readFile } from 'node:fs/promises';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';

/** The baseline of `show`: the same server library, answering the same bytes from memory. Arguments: file, port. */
const [file = '', port = ''] = process.argv.slice(2);
const answer = JSON.parse(await readFile(file, 'utf8')) as unknown;
const app = new Hono();
app.get('*', (c) => c.json(answer as never));
createAdaptorServer({ fetch: app.fetch }).listen(Number(port), '127.0.0.1');
