import { z } from 'zod';
import { InspectionRule, RuleDescription } from '#conductor/api/inspection-rules.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import { ruleResource } from '#conductor/nodes/inspection/rules/rule-resource.ts';

/** `/v1/inspection_rules`. */
export function inspectionRuleRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountResource(app, context, {
    resource: ruleResource,
    path: '/v1/inspection_rules',
    key: 'inspection_rules',
    param: 'rule',
    uuidWord: 'inspection_rule_uuid',
    plural: 'inspection rules',
    hasNewMethods: true,
    tag: 'inspection rules',
    answer: InspectionRule,
    body: RuleDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).nullish() }),
    summaries: {
      create: 'Say what an inspection changes of a node',
      change: 'Change an inspection rule by JSON patch',
      remove: 'Forget an inspection rule',
    },
  });
  return app;
}
