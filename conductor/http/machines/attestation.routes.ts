import { attestMachine, challengeMachine } from '#conductor/flows/request/attest-machine.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { parseCardAddresses } from '#shared/mac-address.ts';
import { bootTokenHeader } from '#shared/wire/agent-calls.ts';
import {
  AttestationAnswer,
  AttestationChallenge,
  AttestationRequest,
  AttestedLookup,
} from '#shared/wire/attestation.ts';

const route = routesOf("attestation (Baton's own)");

const challenge = route.post(
  '/v1/attestations',
  "Ask for a challenge to a machine's TPM, before its lookup",
  answers(200, 'a nonce, and a credential that only that TPM opens', AttestationChallenge),
  { limits: 'agent', body: AttestationRequest },
);

const answer = route.post(
  '/v1/attestations/answer',
  "Prove the TPM and the boot; answered by the lookup's answer for that TPM alone",
  answers(200, 'the verdict, and the lookup, sealed', AttestedLookup),
  { limits: 'attestation', body: AttestationAnswer },
);

/** Mounts the calls by which a machine's TPM proves itself. No authentication, as of lookups. */
export function attestationRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(challenge, async (c) => {
    const { addresses: given, ...keys } = c.req.valid('json');
    const addresses = parseCardAddresses(given);
    const bootToken = c.req.header(bootTokenHeader);
    return c.json(await challengeMachine(context, keys, { addresses, bootToken }));
  });

  app.openapi(answer, async (c) => {
    const asking = { version: c.get('version'), bootToken: c.req.header(bootTokenHeader) };
    return c.json(await attestMachine(context, c.req.valid('json'), asking));
  });
}
