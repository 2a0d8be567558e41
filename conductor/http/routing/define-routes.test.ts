import { expect, test } from 'vitest';
import { z } from 'zod';
import { answers, newApiApp, routesOf } from '#conductor/http/routing/define-routes.ts';

const Thing = z.strictObject({ name: z.string(), tags: z.array(z.string()).optional() });
const route = routesOf('test');

test('the compiler holds a handler to what its route answers', () => {
  const app = newApiApp();
  const show = route.get('/v1/thing', 'Show it', answers(200, 'the thing', Thing));
  app.openapi(show, (c) => c.json({ name: 'a', tags: ['b'] as readonly string[] }, 200));
  // @ts-expect-error -- no field that the schema has
  app.openapi(show, (c) => c.json({ nonsense: 1 }));
  // @ts-expect-error -- another type
  app.openapi(show, (c) => c.json({ name: 1 }));
  // @ts-expect-error -- another status
  app.openapi(show, (c) => c.json({ name: 'a' }, 201));
  // @ts-expect-error -- fields that nobody has named
  app.openapi(show, (c) => c.json<Record<string, unknown>>({ name: 'a' }));
  // @ts-expect-error -- an answer that nothing is known of
  app.openapi(show, () => new Response('{}'));
  expect(app.routes).toHaveLength(6);
});

test('it does so beside errors, which have no schema', () => {
  const app = newApiApp();
  const make = route.post('/v1/thing', 'Make it', {
    ...answers(201, 'the thing', Thing),
    ...answers(200, 'it was there', z.strictObject({ same: z.literal(true) })),
    409: { description: 'there is another' },
  });
  app.openapi(make, (c) => (c.req.query('again') ? c.json({ same: true } as const, 200) : c.json({ name: 'a' }, 201)));
  // @ts-expect-error -- the other's body
  app.openapi(make, (c) => c.json({ name: 'a' }, 200));
  // @ts-expect-error -- the error's status
  app.openapi(make, (c) => c.json({ name: 'a' }, 409));
  expect(app.routes).toHaveLength(3);
});

test('fields that are all optional take no others', () => {
  const app = newApiApp();
  const show = route.get('/v1/part', 'Show a part', answers(200, 'a part', Thing.partial()));
  // @ts-expect-error -- no field of it
  app.openapi(show, (c) => c.json({ nonsense: 1 }));
  expect(app.routes).toHaveLength(1);
});
