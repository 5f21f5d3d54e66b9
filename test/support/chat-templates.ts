/** Templates as published models have them, and the tokens that each writes; special ones unless said. */
export interface WrittenTemplate {
  readonly name: string;
  readonly source: string;
  readonly tokens: readonly string[];
  /** Tokens that are text to a tokenizer, and structure to the template. */
  readonly plainTokens?: readonly string[];
}

export const CHAT_TEMPLATES: readonly WrittenTemplate[] = [
  {
    name: "ChatML with Hermes' calls",
    source: `{%- if tools %}<|im_start|>system
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else -%}
<|im_start|>{{ message.role }}
{{ message.content | trim }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{{ call.function | tojson }}
</tool_call>
{%- endfor -%}<|im_end|>
{% endif -%}
{%- endfor -%}
<|im_start|>assistant
`,
    tokens: ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
    plainTokens: ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],
  },
  {
    name: "ChatML that drops earlier thoughts",
    source: `{%- for message in messages -%}
{%- set content = message.content -%}
{%- if message.role == 'assistant' and '</think>' in content -%}
{%- set content = content.split('</think>')[-1].lstrip('\\n') -%}
{%- endif -%}
<|im_start|>{{ message.role }}
{{ content }}<|im_end|>
{% endfor -%}
<|im_start|>assistant
<think>
`,
    tokens: ["<|im_start|>", "<|im_end|>"],
    plainTokens: ["<think>", "</think>"],
  },
  {
    name: "Llama 3's headers",
    source: `{{ bos_token }}{%- for message in messages -%}
<|start_header_id|>{{ message.role }}<|end_header_id|>

{{ message.content | trim }}
{%- for call in message.tool_calls or [] -%}
{"name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}
{%- endfor -%}<|eot_id|>
{%- endfor -%}
{%- for tool in tools or [] -%}{{ tool | tojson(indent=4) }}{%- endfor -%}
<|start_header_id|>assistant<|end_header_id|>

`,
    tokens: [
      "<|begin_of_text|>",
      "<|start_header_id|>",
      "<|end_header_id|>",
      "<|eot_id|>",
      "<|python_tag|>",
    ],
  },
  {
    name: "Mistral's brackets",
    source: `{{ bos_token }}{%- if tools -%}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' and message.tool_calls -%}
[TOOL_CALLS][{%- for call in message.tool_calls -%}{{ call.function | tojson }}{%- endfor -%}]</s>
{%- elif message.role == 'assistant' -%}{{ ' ' + message.content + '</s>' }}
{%- elif message.role == 'tool' -%}[TOOL_RESULTS]{{ {"content": message.content} | tojson }}[/TOOL_RESULTS]
{%- else -%}{{ '[INST] ' + message.content + '[/INST]' }}{%- endif -%}
{%- endfor -%}`,
    tokens: [
      "<s>",
      "[INST]",
      "[/INST]",
      "[AVAILABLE_TOOLS]",
      "[/AVAILABLE_TOOLS]",
      "[TOOL_RESULTS]",
      "[/TOOL_RESULTS]",
    ],
  },
  {
    name: "names beside texts",
    source: `{%- for message in messages -%}<|{{ message.role }}|>{{ message.name }}{{ message.reasoning_content }}{{ message.content }}<|end|>
{%- endfor -%}<|assistant|>`,
    tokens: ["<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"],
  },
];
