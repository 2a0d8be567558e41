import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import {
  daemonSetRight,
  deleteRight,
  evictRight,
  listPodsRight,
  patchRight,
  watchRight,
} from '#conductor/cluster/kubernetes/rights.ts';

const ClusterRole = z.looseObject({
  kind: z.literal('ClusterRole'),
  rules: z.array(
    z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});

test("docs/kubernetes/access.yaml grants each right that is asked for before a node's first change", async () => {
  const text = await readFile(new URL('../../../docs/kubernetes/access.yaml', import.meta.url), 'utf8');
  const documents = parseAllDocuments(text).map((document): unknown => document.toJS());
  const [role] = documents.flatMap((document) => ClusterRole.safeParse(document).data ?? []);
  const granted = role?.rules.flatMap(({ apiGroups, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${apiGroups.join()} ${resource}`)),
  );
  const rights = [patchRight, deleteRight, watchRight, listPodsRight, evictRight, daemonSetRight];
  const asked = rights.map(
    ({ verb, group, resource, subresource }) => `${verb} ${group} ${[resource, subresource].filter(Boolean).join('/')}`,
  );
  expect(granted).toEqual(expect.arrayContaining(asked));
});
