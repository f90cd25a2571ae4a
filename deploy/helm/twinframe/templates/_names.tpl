{{- define "twinframe.selector" -}}
app.kubernetes.io/name: twinframe
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "twinframe.labels" -}}
{{ include "twinframe.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
