import { AcceptedTpm, NodeTpm, type NodeTpmAnswer } from '#conductor/api/attestation.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import type { NodeTpmRow } from '#conductor/kernel/db/schema/tpm.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import { tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { showTpm } from '#conductor/model/tpm/show-tpm.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { acceptTpm, findNodeTpm, neverAttested } from '#conductor/nodes/tpm/tpm-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("attestation (Baton's own)");

const show = route.get(
  '/v1/nodes/{node}/tpm',
  "Show the node's TPM, and what its newest boot has proved",
  answers(200, 'TPM, verdict and measurements', NodeTpm),
);

const accept = route.put(
  '/v1/nodes/{node}/tpm/accepted',
  'Accept the TPM and the boot that were seen last as those of the node',
  answers(200, 'as it is from now on', NodeTpm),
  {
    limits: 'usual',
    body: AcceptedTpm,
    description:
      'The fingerprint must be that of the TPM seen last: nobody accepts another one than they have looked at.',
  },
);

/** `/v1/nodes/{node}/tpm`: Baton's own. */
export function nodeTpmRoutes(app: ApiApp, context: HttpContext): void {
  const { db, clock, config } = context;

  app.openapi(show, async (c) => {
    const { uuid } = await getNode(db, c.req.valid('param').node);
    const row = await findNodeTpm(db, uuid);
    if (!row) throw neverAttested(uuid);
    return c.json(viewTpm(row));
  });

  app.openapi(accept, async (c) => {
    const { uuid } = await getNode(db, c.req.valid('param').node);
    const { fingerprint } = c.req.valid('json');
    const { user, project } = c.get('caller');
    const row = await db.transaction(async (tx) => {
      const seen = await findNodeTpm(tx, uuid);
      if (!seen) throw neverAttested(uuid);
      const now = tpmFingerprint(seen.seenEkPublic);
      if (now !== fingerprint)
        throw new AppError('conflict', `the TPM that was seen last has the fingerprint ${now}, not ${fingerprint}`);
      await addHistory(tx, {
        nodeUuid: uuid,
        eventType: 'attestation',
        event: `TPM ${fingerprint.slice(0, 16)}… and its newest boot accepted as the node's`,
        conductor: config.conductorName,
        user,
        project,
      });
      return acceptTpm(tx, uuid, { user: user ?? null, at: clock.now() });
    });
    return c.json(viewTpm(row));
  });
}

function viewTpm(row: NodeTpmRow): NodeTpmAnswer {
  return {
    verdict: row.verdict,
    reasons: row.reasons,
    attested_at: apiTime(row.seenAt),
    tpm: showTpm(row.seenEkPublic, row.seenEkCertificate),
    boot: row.seenBoot && viewBoot(row.seenBoot),
    accepted: {
      tpm: showTpm(row.ekPublic, row.ekCertificate),
      boot: row.acceptedBoot && viewBoot(row.acceptedBoot),
      at: apiTime(row.acceptedAt),
      by: row.acceptedBy,
    },
  };
}

function viewBoot({ pcrs, secureBoot, firmwareVersion, programs }: MeasuredBoot) {
  return {
    pcrs: { ...pcrs },
    secure_boot: secureBoot ?? null,
    firmware_version: firmwareVersion ?? null,
    programs: [...programs],
  };
}
