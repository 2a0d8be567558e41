import { AcceptedTpm, NodeTpm, type NodeTpmAnswer } from '#conductor/api/attestation.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import type { NodeTpmRow } from '#conductor/kernel/db/schema/tpm.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import { showTpm } from '#conductor/model/tpm/show-tpm.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { acceptTpm, findNodeTpm, neverAttested } from '#conductor/nodes/tpm/tpm-store.ts';

const route = routesOf("attestation (Baton's own)");

const show = route.get(
  '/v1/nodes/{node}/tpm',
  "Show the node's TPM, and what its newest boot has proved",
  answers(200, 'TPM, verdict and measurements', NodeTpm),
);

const accept = route.put(
  '/v1/nodes/{node}/tpm/accepted',
  'Accept a TPM that has asked, and its newest boot, as those of the node',
  answers(200, 'as it is from now on', NodeTpm),
  {
    limits: 'usual',
    body: AcceptedTpm,
    description: "The fingerprint is that of the node's TPM, or of `other`: nobody accepts another one than they name.",
  },
);

/** `/v1/nodes/{node}/tpm`: Baton's own. */
export function nodeTpmRoutes(app: ApiApp, context: HttpContext): void {
  const { db, config } = context;

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
      const accepted = await acceptTpm(tx, uuid, { fingerprint, user: user ?? null });
      await addHistory(tx, {
        nodeUuid: uuid,
        eventType: 'attestation',
        event: `TPM ${fingerprint.slice(0, 16)}… and its newest boot accepted as the node's`,
        conductor: config.conductorName,
        user,
        project,
      });
      return accepted;
    });
    return c.json(viewTpm(row));
  });
}

function viewTpm(row: NodeTpmRow): NodeTpmAnswer {
  const { otherEkPublic, otherAt } = row;
  return {
    verdict: row.verdict,
    reasons: row.reasons,
    attested_at: apiTime(row.seenAt),
    tpm: showTpm(row.ekPublic, row.ekCertificate),
    boot: row.seenBoot && viewBoot(row.seenBoot),
    accepted: { boot: row.acceptedBoot && viewBoot(row.acceptedBoot), at: apiTime(row.acceptedAt), by: row.acceptedBy },
    other:
      otherEkPublic === null || otherAt === null
        ? null
        : {
            tpm: showTpm(otherEkPublic, row.otherEkCertificate),
            boot: row.otherBoot && viewBoot(row.otherBoot),
            at: apiTime(otherAt),
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
