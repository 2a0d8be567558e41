import { z } from 'zod';
import { AcceptedTpm, ListedTpm, NodeTpm, type NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { pageOf } from '#conductor/api/values.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { nextPage, parsePaging } from '#conductor/http/routing/list-queries.ts';
import type { NodeTpmRow } from '#conductor/kernel/db/schema/tpm.ts';
import { attestationKeyPayloadType, sealEnvelope } from '#conductor/model/receipts/envelope.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import type { AttestationKeyRecord } from '#conductor/model/tpm/boot-attestation.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import { readAttestationKey, tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { showTpm } from '#conductor/model/tpm/show-tpm.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { attestationEvent } from '#conductor/nodes/tpm/attestation-event.ts';
import { listAttestations } from '#conductor/nodes/tpm/attestation-summary.ts';
import { checkTpm } from '#conductor/nodes/tpm/check-tpm.ts';
import { acceptTpm, findNodeTpm, neverAttested } from '#conductor/nodes/tpm/tpm-store.ts';
import { ensureSigningKey } from '#conductor/receipts/signing-key-store.ts';

const route = routesOf("attestation (Baton's own)");

const show = route.get(
  '/v1/nodes/{node}/tpm',
  "Show the node's TPM, and what its newest boot has proved",
  answers(200, 'TPM, verdict and measurements', NodeTpm),
);

const listPath = '/v1/tpms';
const list = route.get(
  listPath,
  'List the nodes whose TPM is known, with the verdict on its newest boot',
  answers(200, 'verdicts', pageOf('tpms', ListedTpm)),
  {
    query: z.strictObject({
      limit: z.string().optional(),
      marker: z.string().optional().describe('uuid of the last one of the page before'),
    }),
  },
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

/** `/v1/nodes/{node}/tpm` and `/v1/tpms`: Baton's own. */
export function nodeTpmRoutes(app: ApiApp, context: HttpContext): void {
  const { db, config } = context;

  app.openapi(list, async (c) => {
    const paging = parsePaging(c.req.valid('query'));
    const rows = await listAttestations(db, { owner: c.get('caller').project }, paging);
    const tpms = rows.map(({ uuid, name, ekPublic, seenAt, summary }) => ({
      uuid,
      name,
      fingerprint: tpmFingerprint(ekPublic),
      attested_at: apiTime(seenAt),
      ...summary,
    }));
    return c.json({ tpms, ...nextPage(c, listPath, paging, rows) });
  });

  app.openapi(show, async (c) => {
    const { uuid } = await getNode(db, c.req.valid('param').node);
    const row = await findNodeTpm(db, uuid);
    if (!row) throw neverAttested(uuid);
    return c.json(await viewTpm(context, row));
  });

  app.openapi(accept, async (c) => {
    const { uuid } = await getNode(db, c.req.valid('param').node);
    const { fingerprint, attested_at: attestedAt } = c.req.valid('json');
    const { user, project, ...ids } = c.get('caller');
    const row = await db.transaction(async (tx) => {
      const before = await findNodeTpm(tx, uuid);
      const accepted = await acceptTpm(tx, uuid, { fingerprint, attestedAt, user: user ?? null });
      await addHistory(tx, {
        nodeUuid: uuid,
        eventType: 'attestation',
        event: `TPM ${fingerprint.slice(0, 16)}… and its newest boot accepted as the node's`,
        conductor: config.conductorName,
        user,
        project,
        ...requestIdsOf(ids),
        notify: attestationEvent({
          from: before?.verdict ?? null,
          verdict: accepted.verdict,
          reasons: accepted.reasons,
          tpm: fingerprint,
          another: false,
          acceptedBy: accepted.acceptedBy,
        }),
      });
      return accepted;
    });
    return c.json(await viewTpm(context, row));
  });
}

type ViewContext = Pick<HttpContext, 'config' | 'clock' | 'db' | 'secrets'>;

async function viewKey(context: ViewContext, ekPublic: string, certificate: string | null) {
  const { state, detail } = await checkTpm(context, ekPublic, certificate);
  return { ...showTpm(ekPublic, certificate), certificate_state: state, certificate_detail: detail };
}

/** Signs for others that a key is in that TPM: as of its newest boot of Baton's ramdisk, and of nothing that runs since. */
async function viewAttestationKey(
  context: ViewContext,
  row: NodeTpmRow,
  { akPublic, akUnique }: AttestationKeyRecord,
): Promise<NodeTpmAnswer['attestation_key']> {
  const { fingerprint, endorsement_key } = showTpm(row.ekPublic, row.ekCertificate);
  const { key } = readAttestationKey(Buffer.from(akPublic, 'base64'));
  const public_key = key.export({ format: 'pem', type: 'spki' }).toString();
  const statement = {
    kind: 'AttestationKey',
    version: 1,
    conductor: context.config.conductorName,
    node: row.nodeUuid,
    tpm: { fingerprint, endorsement_key },
    attestation_key: public_key,
    attested_at: apiTime(row.seenAt),
    verdict: row.verdict,
    scope: "A boot of Baton's ramdisk. What has run on the machine since is not part of it.",
  };
  const signed = sealEnvelope(
    Buffer.from(JSON.stringify(statement)),
    await ensureSigningKey(context),
    attestationKeyPayloadType,
  );
  return { public_key, unique: akUnique ?? null, statement: signed };
}

async function viewTpm(context: ViewContext, row: NodeTpmRow): Promise<NodeTpmAnswer> {
  const { otherEkPublic, otherAt } = row;
  return {
    verdict: row.verdict,
    reasons: row.reasons,
    attested_at: apiTime(row.seenAt),
    tpm: await viewKey(context, row.ekPublic, row.ekCertificate),
    boot: row.seenBoot && viewBoot(row.seenBoot),
    accepted: { boot: row.acceptedBoot && viewBoot(row.acceptedBoot), at: apiTime(row.acceptedAt), by: row.acceptedBy },
    attestation_key: row.attestationKey && (await viewAttestationKey(context, row, row.attestationKey)),
    other:
      otherEkPublic === null || otherAt === null
        ? null
        : {
            tpm: await viewKey(context, otherEkPublic, row.otherEkCertificate),
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
